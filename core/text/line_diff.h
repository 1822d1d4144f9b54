// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak {

/// The lines of a text, without their ends; none of an empty text, and none behind a last end of line. They are parts of
/// `text`, which has to outlive them.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// What changes from `before` to `after`, line by line, as a unified diff without file names: at most so many
/// lines, with what was left out counted in a last one. Empty for equal texts.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after,
                                       std::size_t max_lines);

}  // namespace ak
