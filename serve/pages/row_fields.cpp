// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/row_fields.h"

#include <algorithm>

#include "serve/pages/column.h"
#include "serve/pages/page_text.h"
#include "serve/pages/status_tone.h"

namespace ak::pages {

const db::Cell& RowFields::operator[](std::string_view column) const {
  static const db::Cell kNull;
  const auto found = std::ranges::find(table_.columns, column);
  return found == table_.columns.end() ? kNull
                                       : row_[static_cast<std::size_t>(found - table_.columns.begin())];
}

std::string RowFields::text(std::string_view column) const {
  const db::Cell& cell = (*this)[column];
  return std::holds_alternative<std::monostate>(cell) ? "" : harmless(shown(cell, column), kMaxCellBytes);
}

std::string_view RowFields::tone() const {
  const auto* text = std::get_if<std::string>(&(*this)["tone"]);
  return text != nullptr && is_tone(*text) ? std::string_view(*text) : "";
}

}  // namespace ak::pages
