// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace ak::operations {

/// The sections of show_problem; the first is shown where none is named.
[[nodiscard]] std::vector<std::string_view> problem_sections();

}  // namespace ak::operations
