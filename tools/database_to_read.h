// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "app/setup/config.h"

namespace ak::tools {

/// database_file() of app/setup/config.h for a verb that reads it: where it is there and of an older schema,
/// it is brought up to date. Throws Error(database).
[[nodiscard]] std::filesystem::path database_to_read(const std::string& flag, const app::Config& config);

}  // namespace ak::tools
