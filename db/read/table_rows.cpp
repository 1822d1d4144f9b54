// SPDX-License-Identifier: Apache-2.0
#include "db/read/table_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace ak::db {

const Cell& TableRow::cell(std::string_view column) const {
  const auto& names = table_->columns;
  const auto found = std::ranges::find(names, column);
  AK_ASSERT(found != names.end(), fmt::format("the table has a column '{}'", column));
  AK_ASSERT(std::find(found + 1, names.end(), column) == names.end(),
            fmt::format("the table has one column '{}'", column));
  return (*cells_)[static_cast<std::size_t>(found - names.begin())];
}

std::string TableRow::text(std::string_view column) const {
  const auto* value = std::get_if<std::string>(&cell(column));
  return value ? *value : "";
}

std::optional<double> TableRow::known_real(std::string_view column) const {
  const Cell& value = cell(column);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real ? std::optional(*real) : std::nullopt;
}

std::int64_t TableRow::integer(std::string_view column) const {
  const auto* value = std::get_if<std::int64_t>(&cell(column));
  return value ? *value : 0;
}

std::vector<TableRow> rows_of(const Table& table) {
  std::vector<TableRow> rows;
  rows.reserve(table.rows.size());
  for (const auto& cells : table.rows) rows.emplace_back(table, cells);
  return rows;
}

}  // namespace ak::db
