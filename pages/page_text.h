// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/text/json.h"
#include "pages/page.h"

namespace ak::pages {

/// Markdown whose values are escaped: what they hold shows as text.
struct TextPiece {
  std::string markdown;
};
struct TablePiece {
  std::string caption;
  const db::Table* rows = nullptr;
};
/// A text shown as it is; `diff`: a unified diff, whose lines are coloured.
struct CodePiece {
  std::string title, text;
  bool diff = false;
};
/// What charts.js draws: the specification of the page with the rows, headings and title in it.
struct ChartPiece {
  Json chart;
};
/// The form of the page's optional parameters.
struct FormPiece {};

using Piece = std::variant<TextPiece, TablePiece, CodePiece, ChartPiece, FormPiece>;

/// The text of a page with its tags replaced, in order; tables and pictures without rows are left out. Tags:
///   {{dataset.column}}                    the value in the dataset's first row, empty without one
///   {{#dataset}} ... {{column}} ... {{/dataset}}   for each row
///   {{?dataset}} ... {{/dataset}}         once, where it has rows
///   {{^dataset}} ... {{/dataset}}         once, where it has none
///   {{table dataset}}, {{code dataset}}, {{diff dataset}} (columns title and text), {{form}}
///   ```chart                              a fenced block of JSON (pages/chart.h)
/// Throws Error(bad_input) for a tag that is unknown, open, or names no dataset or column of the page.
/// @param data must outlive the pieces
[[nodiscard]] std::vector<Piece> expand(const Page& page, const PageData& data);

/// A value for Markdown: every character that would mean something there is escaped; one line.
/// Longer texts of cells are cut.
constexpr std::size_t kMaxCellBytes = 1'000;

[[nodiscard]] std::string markdown_escape(std::string_view text);

}  // namespace ak::pages
