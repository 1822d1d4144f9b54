// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "serve/pages/column.h"
#include "serve/pages/page_text.h"
#include "serve/pages/row_fields.h"
#include "serve/pages/sparkline.h"

namespace ak::pages {
namespace {

constexpr std::array<std::string_view, 5> kOwnPlace{"title", "value", "note", "tone", "history"};

/// Columns that are facts of a card, where they are not NULL.
std::vector<std::size_t> facts_of(const db::Table& table, const std::vector<db::Cell>& row) {
  std::vector<std::size_t> facts;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (std::ranges::find(kOwnPlace, table.columns[i]) == kOwnPlace.end() &&
        !std::holds_alternative<std::monostate>(row[i]))
      facts.push_back(i);
  return facts;
}

std::string card_html(const db::Table& table, const std::vector<db::Cell>& row, const LinkedColumns& linked) {
  const RowFields fields(table, row);
  std::string out = fmt::format("<li class=\"card {}\"><h3>{}</h3>\n", fields.tone(),
                                breakable(html_escape(fields.text("title"))));
  const std::string value = fields.text("value"), note = fields.text("note");
  if (!value.empty())
    out += fmt::format("<p class=\"figure\"><strong>{}</strong> <span class=\"note\">{}</span></p>\n",
                       html_escape(value), html_escape(note));
  if (const auto* history = std::get_if<std::string>(&fields["history"]))
    out += sparkline_svg(*history) + "\n";
  out += "<dl>\n";
  for (const std::size_t i : facts_of(table, row))
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escape(table_heading(table.columns[i])),
                       breakable(cell_html(row[i], table.columns[i], linked)));
  return out + "</dl></li>\n";
}

std::string card_markdown(const db::Table& table, const std::vector<db::Cell>& row) {
  const RowFields fields(table, row);
  std::string out = fmt::format("\n**{}**", markdown_escape(fields.text("title")));
  const std::string value = fields.text("value"), note = fields.text("note");
  if (!value.empty()) out += ": " + markdown_escape(value + (note.empty() ? "" : " " + note));
  if (const auto* history = std::get_if<std::string>(&fields["history"]);
      history && !sparkline_text(*history).empty())
    out += " " + sparkline_text(*history);
  out += "\n\n";
  for (const std::size_t i : facts_of(table, row))
    out += fmt::format("- {}: {}\n", markdown_escape(table_heading(table.columns[i])),
                       markdown_escape(harmless(shown(row[i], table.columns[i]), kMaxCellBytes)));
  return out;
}

}  // namespace

std::string cards_html(const db::Table& rows, const LinkedColumns& linked) {
  std::string out = "<ul class=\"cards\">\n";
  for (const auto& row : rows.rows) out += card_html(rows, row, linked);
  return out + "</ul>\n";
}

std::string cards_markdown(const db::Table& rows) {
  std::string out;
  for (const auto& row : rows.rows) out += card_markdown(rows, row);
  return out + "\n";
}

}  // namespace ak::pages
