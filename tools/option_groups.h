// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace ak::tools {

/// What kernels are for.
inline constexpr std::string_view kProblemGroup = "Problem";

/// Groups of options, in the order in which help shows them. What is in no other is in "Main"; a verb may put one of
/// its own options elsewhere with CLI::Option::group().
[[nodiscard]] std::span<const std::string_view> option_groups();

/// The group of an option: the one that its verb chose, else that of its name in the table. Empty: hidden.
[[nodiscard]] std::string group_of(const CLI::Option& option);

}  // namespace ak::tools
