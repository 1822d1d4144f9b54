// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "app/search/search_command.h"

namespace ak::tools {

/// The flags of the subcommands that search, generate and tune.
void add_search_flags(CLI::App& app, app::SearchFlags& flags);

}  // namespace ak::tools
