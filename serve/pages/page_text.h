// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/text/json.h"
#include "serve/pages/page.h"

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
/// Big figures in a row (serve/pages/tiles.h).
struct TilesPiece {
  const db::Table* rows = nullptr;
};
/// One thing each, with the facts that matter (serve/pages/cards.h).
struct CardsPiece {
  const db::Table* rows = nullptr;
};
/// A table that is closed until its summary is clicked.
struct FoldPiece {
  std::string summary;
  std::string caption;
  db::Table rows;
};
/// The form of the page's optional parameters. `choices`: by the parameter's name, a dataset whose first column has
/// the values to choose from.
struct FormPiece {
  std::map<std::string, const db::Table*, std::less<>> choices{};
};
/// Rows in a form of their own, by its name (serve/pages/blocks/block.h). The first table has rows.
struct BlockPiece {
  std::string kind, caption;
  std::vector<const db::Table*> tables;
};

using Piece = std::variant<TextPiece, TablePiece, TilesPiece, CardsPiece, FoldPiece, CodePiece, ChartPiece,
                           FormPiece, BlockPiece>;

/// A value for Markdown: every character that would mean something there is escaped; one line.
[[nodiscard]] std::string markdown_escape(std::string_view text);

using Escape = std::string (*)(std::string_view);

/// Longer texts of cells are cut.
constexpr std::size_t kMaxCellBytes = 1'000;
/// A source file of that size is not read in a page.
constexpr std::size_t kMaxCodeBytes = 200'000;

/// The text of a page with its tags replaced, in order; tables and pictures without rows are left out. Tags:
///   {{dataset.column}}                    the value in the dataset's first row, empty without one
///   {{#dataset}} ... {{column}} ... {{/dataset}}   for each row
///   {{?dataset}} ... {{/dataset}}         once, where it has rows
///   {{^dataset}} ... {{/dataset}}         once, where it has none
///   {{table dataset}}, {{tiles dataset}} (serve/pages/tiles.h), {{cards dataset}} (serve/pages/cards.h)
///   {{fold dataset}}                      a table that is closed until it is clicked
///   {{fold dataset column}}               one for each value of the column, which is its summary
///   {{code dataset}}, {{diff dataset}} (columns title and text)
///   {{form}}                              a dataset with the name of a parameter has the values to choose from
///   {{tree dataset}}, {{transcript dataset}}, {{sides dataset}}, {{listing dataset marks assembly}}
///                                         (serve/pages/blocks/block.h)
///   ```chart                              a fenced block of JSON (serve/pages/chart.h)
/// Throws Error(bad_input) for a tag that is unknown, open, or names no dataset or column of the page.
/// @param data must outlive the pieces
/// @param escape makes a value text of the kind that the pieces are
[[nodiscard]] std::vector<Piece> expand(const Page& page, const PageData& data,
                                        Escape escape = markdown_escape);

}  // namespace ak::pages
