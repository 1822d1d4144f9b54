// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/blocks/block_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/pages/column.h"
#include "serve/pages/page_text.h"

namespace ak::pages {
namespace {

/// "score 2.5 µs" of the column "score_us": its heading without the unit, which follows the value.
std::string fact_html(std::string_view column, std::string_view value) {
  const std::string heading = table_heading(column);
  const std::string_view unit = column_unit(column);
  const std::string in_heading = fmt::format(" ({})", unit);
  if (unit.empty() || !heading.ends_with(in_heading))
    return fmt::format("{} {}", html_escape(heading), value);
  return fmt::format("{} {} {}", html_escape(heading.substr(0, heading.size() - in_heading.size())), value,
                     unit);
}

}  // namespace

std::string facts_html(const db::Table& table, const std::vector<db::Cell>& row,
                       std::span<const std::string_view> used, const LinkedColumns& linked) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    if (std::holds_alternative<std::monostate>(row[i]) || std::ranges::find(used, column) != used.end())
      continue;
    out +=
        fmt::format("<span class=\"fact\">{}</span> ", fact_html(column, cell_html(row[i], column, linked)));
  }
  return out;
}

std::string badge_html(const RowFields& fields) {
  const db::Cell& status = fields["status"];
  return std::holds_alternative<std::monostate>(status) ? "" : cell_html(status, "status", {}) + ' ';
}

std::string whole_text(const RowFields& fields, std::string_view column) {
  const auto* text = std::get_if<std::string>(&fields[column]);
  return text == nullptr ? "" : harmless(*text, kMaxCodeBytes);
}

std::optional<double> number_of(const RowFields& fields, std::string_view column) {
  const db::Cell& cell = fields[column];
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::nullopt;
}

}  // namespace ak::pages
