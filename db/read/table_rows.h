// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace ak::db {

/// A row of a Table by the names of its columns, as Rows is one of a statement. Belongs to the table. A name that the
/// table does not have, or has twice, is a bug.
class TableRow {
 public:
  TableRow(const Table& table, const std::vector<Cell>& cells) : table_(&table), cells_(&cells) {}

  [[nodiscard]] const Cell& cell(std::string_view column) const;
  /// Empty for what is not a text.
  [[nodiscard]] std::string text(std::string_view column) const;
  /// Integers and reals; nothing for what is not a number.
  [[nodiscard]] std::optional<double> known_real(std::string_view column) const;
  /// 0 for what is not a number.
  [[nodiscard]] double real(std::string_view column) const { return known_real(column).value_or(0); }
  /// 0 for what is not an integer.
  [[nodiscard]] std::int64_t integer(std::string_view column) const;

 private:
  const Table* table_;
  const std::vector<Cell>* cells_;
};

/// The rows of `table`, which has to outlive them.
[[nodiscard]] std::vector<TableRow> rows_of(const Table& table);
std::vector<TableRow> rows_of(Table&&) = delete;

}  // namespace ak::db
