// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/sqlite.h"

namespace ak::db {

/// A table as the schema declares it.
struct TableShape {
  std::string name;
  std::vector<std::string> columns;
  std::map<std::string, std::string> references;      ///< column -> table whose id it holds
  std::vector<std::vector<std::string>> unique_keys;  ///< in addition to uid and id
  [[nodiscard]] bool has(const std::string& column) const;
};

/// The tables that a merge copies, each after those that it refers to. Those of the full-text index are not among
/// them, and neither are the derived ones: triggers fill both. Throws SqliteError.
[[nodiscard]] std::vector<TableShape> tables_in_order(Connection& connection);

}  // namespace ak::db
