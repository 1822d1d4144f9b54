// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace ak::pages {

/// A row whose columns are looked up by name, for blocks whose columns have fixed meanings.
class RowFields {
 public:
  RowFields(const db::Table& table, const std::vector<db::Cell>& row) : table_(table), row_(row) {}

  /// The value; NULL where there is no such column.
  [[nodiscard]] const db::Cell& operator[](std::string_view column) const;
  /// As people read it (serve/pages/column.h), harmless; empty for NULL.
  [[nodiscard]] std::string text(std::string_view column) const;
  /// The column "tone" where it holds one, else empty.
  [[nodiscard]] std::string_view tone() const;

 private:
  const db::Table& table_;
  const std::vector<db::Cell>& row_;
};

}  // namespace ak::pages
