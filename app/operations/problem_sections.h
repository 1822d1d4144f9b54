// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace ak::operations {

/// What show_problem may be asked for; the first is told without being asked.
[[nodiscard]] std::vector<std::string_view> problem_sections();

}  // namespace ak::operations
