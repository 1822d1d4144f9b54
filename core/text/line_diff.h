// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ak {

/// What changes from `before` to `after`, line by line, as a unified diff without file names: at most so many
/// lines, with what was left out counted in a last one. Empty for equal texts.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after,
                                       std::size_t max_lines);

}  // namespace ak
