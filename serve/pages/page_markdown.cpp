// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/page_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/pages/cards.h"
#include "serve/pages/column.h"
#include "serve/pages/sparkline.h"
#include "serve/pages/tiles.h"

namespace ak::pages {
namespace {

std::string line(const std::vector<std::string>& fields) {
  return fmt::format("| {} |\n", fmt::join(fields, " | "));
}

std::string text_of(const TextPiece& piece) { return piece.markdown; }

/// Sparklines in block characters, everything else as in HTML.
std::string field(const db::Cell& cell, const std::string& column) {
  if (const auto* text = std::get_if<std::string>(&cell); text && holds_history(column))
    return sparkline_text(*text);
  return markdown_escape(harmless(shown(cell, column), kMaxCellBytes));
}

std::string table_markdown(const std::string& caption, const db::Table& table) {
  std::vector<std::string> heads, rules;
  const std::vector<std::size_t> columns = filled_columns(table);
  for (const std::size_t i : columns) {
    heads.push_back(markdown_escape(table_heading(table.columns[i])));
    rules.push_back(is_numeric(table, i) ? "---:" : "---");
  }
  std::string out = fmt::format("\n*{}*\n\n", markdown_escape(caption)) + line(heads) + line(rules);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const std::size_t i : columns) fields.push_back(field(row[i], table.columns[i]));
    out += line(fields);
  }
  if (table.truncated) out += fmt::format("\n(the first {} rows)\n", table.rows.size());
  return out + "\n";
}

std::string text_of(const TablePiece& piece) { return table_markdown(piece.caption, *piece.rows); }
std::string text_of(const TilesPiece& piece) { return tiles_markdown(*piece.rows); }
std::string text_of(const CardsPiece& piece) { return cards_markdown(*piece.rows); }
std::string text_of(const FoldPiece& piece) { return table_markdown(piece.summary, piece.rows); }

/// A fence longer than any run of backticks in the text.
std::string text_of(const CodePiece& piece) {
  std::size_t longest = 2, run = 0;
  for (const char c : piece.text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  return fmt::format("\n{}\n\n{}{}\n{}{}{}\n\n", markdown_escape(piece.title), fence,
                     piece.diff ? "diff" : "cuda", piece.text, piece.text.ends_with('\n') ? "" : "\n", fence);
}

std::string text_of(const ChartPiece& piece) {
  return fmt::format("\n(picture in the HTML report: {})\n\n",
                     markdown_escape(std::string(piece.chart.at("title"))));
}

std::string text_of(const FormPiece&) { return ""; }

std::string text_of(const BlockPiece& piece) {
  return text_of(TablePiece{.caption = piece.caption, .rows = piece.tables.front()});
}

}  // namespace

std::string page_markdown(std::span<const Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) out += std::visit([](const auto& one) { return text_of(one); }, piece);
  return out;
}

}  // namespace ak::pages
