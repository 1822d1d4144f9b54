// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace ak::db {

/// A value that a query needs: ":search" in its SQL.
struct QueryParameter {
  std::string name, help;
  enum class Type : std::uint8_t { text, integer } type = Type::text;
  bool required = false;
  Cell value;  ///< what it is where nothing is given; monostate is NULL
};

/// A query with a name: a file of db/queries/ or of the user's. Its first comment is its title,
/// those that follow are its parameters: "-- limit: most rows (integer, 20)", "-- variant: its
/// number (integer, required)".
struct NamedQuery {
  std::string name, title, sql;
  std::vector<QueryParameter> parameters;
};

/// Reads one. Throws Error(bad_input) naming what was expected.
[[nodiscard]] NamedQuery parse_named_query(std::string_view name, std::string_view text);

/// Those shipped, and above them the files *.sql of `folder` if it exists; by name.
[[nodiscard]] std::vector<NamedQuery> named_queries(const std::filesystem::path& folder);

/// Values for all parameters out of "name=value" texts. Throws Error(usage) for one that is not known,
/// missing or of another type, naming those that are.
[[nodiscard]] QueryValues query_values(const NamedQuery& query, std::span<const std::string> given);

}  // namespace ak::db
