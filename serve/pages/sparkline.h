// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ak::pages {

/// Columns whose values are drawn as a sparkline: "history" and names that end with "_history". A value is a JSON array
/// of numbers in the order of time.
[[nodiscard]] bool holds_history(std::string_view column);

/// A line without axes, as an SVG image with its ends as text; empty where there are not two numbers to join.
/// At most the last 200 numbers are drawn.
[[nodiscard]] std::string sparkline_svg(std::string_view json);

/// The same in block characters, "█▅▂▁", for text; at most 40 of them.
[[nodiscard]] std::string sparkline_text(std::string_view json);

}  // namespace ak::pages
