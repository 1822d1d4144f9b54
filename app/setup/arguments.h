// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak::app {

using Arguments = std::vector<std::string>;  ///< without the program and subcommand names

/// The command line has this flag, as `--name VALUE` or `--name=VALUE`, and one of one letter as `-n VALUE` or `-nVALUE`.
[[nodiscard]] bool has_flag(const Arguments& arguments, std::string_view flag);
/// Takes such a flag out; returns its last value, or nothing.
[[nodiscard]] std::string take_option(Arguments& arguments, const std::string& flag);

}  // namespace ak::app
