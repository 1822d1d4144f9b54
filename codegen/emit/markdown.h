// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::codegen {

/// Text for a table cell or a line: names come from candidates, so nothing in them may end the cell.
[[nodiscard]] std::string markdown_cell(const std::string& text);

/// The same between backticks.
[[nodiscard]] std::string markdown_code(const std::string& text);

/// The page for a terminal: headings and bold text without their marks, columns of tables aligned.
[[nodiscard]] std::string without_markdown(const std::string& page);

}  // namespace ak::codegen
