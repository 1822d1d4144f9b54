// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/search/search_command.h"
#include "app/setup/arguments.h"

namespace ak::tools {

/// Reads the problem, the templates and the configuration, and looks for the device. Nothing when the
/// arguments ask for help, which was printed. Throws Error for what is wrong with them.
/// @param command stored with the search
/// @param view opened when the arguments are known to be right, and handed to the search; null: none. Not owned
[[nodiscard]] std::optional<app::GenerateCommand> generate_command(const app::Arguments& arguments,
                                                                   std::string command,
                                                                   app::LiveView* view = nullptr);

}  // namespace ak::tools
