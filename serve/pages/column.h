// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace ak::pages {

/// What the end of a column's name says of its unit: "score_us" is in µs. Empty where it says nothing.
[[nodiscard]] std::string_view column_unit(std::string_view column);

/// A column's name for people: "score_us" is "score (µs)".
[[nodiscard]] std::string column_heading(std::string_view column);

/// The head of a table's column: as column_heading(), without the unit where each value carries its own ("l2_bytes").
[[nodiscard]] std::string table_heading(std::string_view column);

/// Numbers of rows, which are names: shown without separators, and linked to their page.
[[nodiscard]] bool names_a_row(std::string_view column);

/// A value as people read it: four significant digits, thousands apart, bytes with a unit that suits their size,
/// versions of drivers as "13.0", times of day to the minute, "–" for NULL, the size of a BLOB. Texts are as they are.
[[nodiscard]] std::string shown(const db::Cell& cell, std::string_view column);

/// The columns worth showing: those that are not NULL in every row.
[[nodiscard]] std::vector<std::size_t> filled_columns(const db::Table& table);

/// Nothing but numbers and NULL: set flush right.
[[nodiscard]] bool is_numeric(const db::Table& table, std::size_t column);

/// UTF-8 without what could disturb a reader: what is not UTF-8, control and bidirectional format characters
/// become U+FFFD ("\n" and "\t" stay), and what is longer than `max_bytes` ends in a note on the rest.
[[nodiscard]] std::string harmless(std::string_view text, std::size_t max_bytes);

}  // namespace ak::pages
