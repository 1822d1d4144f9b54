// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/pages/cell_html.h"
#include "serve/pages/row_fields.h"

namespace ak::pages {

/// What the columns that are not `used` say of a row, as HTML: "score 2.5 µs", linked where the column is a page's.
/// NULL is left out.
[[nodiscard]] std::string facts_html(const db::Table& table, const std::vector<db::Cell>& row,
                                     std::span<const std::string_view> used, const LinkedColumns& linked);

/// The word of the column "status" with its tone; empty without one.
[[nodiscard]] std::string badge_html(const RowFields& fields);

/// A source or an answer as it is, but harmless and at most 200 kB.
[[nodiscard]] std::string whole_text(const RowFields& fields, std::string_view column);

/// Nothing where the value is no number.
[[nodiscard]] std::optional<double> number_of(const RowFields& fields, std::string_view column);

}  // namespace ak::pages
