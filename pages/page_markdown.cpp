// SPDX-License-Identifier: Apache-2.0
#include "pages/page_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "pages/column.h"

namespace ak::pages {
namespace {

std::string line(const std::vector<std::string>& fields) {
  return fmt::format("| {} |\n", fmt::join(fields, " | "));
}

std::string text_of(const TextPiece& piece) { return piece.markdown; }

std::string text_of(const TablePiece& piece) {
  const db::Table& table = *piece.rows;
  std::vector<std::string> heads, rules;
  const std::vector<std::size_t> columns = filled_columns(table);
  for (const std::size_t i : columns) {
    heads.push_back(markdown_escape(column_heading(table.columns[i])));
    rules.push_back(is_numeric(table, i) ? "---:" : "---");
  }
  std::string out = fmt::format("\n*{}*\n\n", markdown_escape(piece.caption)) + line(heads) + line(rules);
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const std::size_t i : columns)
      fields.push_back(markdown_escape(harmless(shown(row[i], table.columns[i]), kMaxCellBytes)));
    out += line(fields);
  }
  if (table.truncated) out += fmt::format("\n(the first {} rows)\n", table.rows.size());
  return out + "\n";
}

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

}  // namespace

std::string page_markdown(std::span<const Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) out += std::visit([](const auto& one) { return text_of(one); }, piece);
  return out;
}

}  // namespace ak::pages
