// SPDX-License-Identifier: Apache-2.0
#include "tests/db/old_schema.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "core/text/file.h"
#include "db/schema.h"

namespace ak::db::test {

void make_old_database(const std::filesystem::path& file, int version) {
  std::vector<std::filesystem::path> migrations;
  for (const auto& entry : std::filesystem::directory_iterator(AK_SOURCE_DIR "/db/migrations"))
    if (std::stoi(entry.path().filename()) <= version) migrations.push_back(entry.path());
  std::ranges::sort(migrations);
  Connection connection(file, OpenMode::create);
  for (const auto& migration : migrations) connection.execute(read_file(migration));
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version));
}

namespace {

std::string text_of(const Statement& row, int column) {
  switch (sqlite3_column_type(row.get(), column)) {
    case SQLITE_FLOAT:
      return fmt::format("{:.10g}", sqlite3_column_double(row.get(), column));
    case SQLITE_INTEGER:
      return fmt::format("{}", row.integer(column));
    case SQLITE_TEXT:
      return row.text(column);
    default:
      return "NULL";
  }
}

Value value_of(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

}  // namespace

std::vector<std::string> rows_of(const std::filesystem::path& file, const std::string& sql,
                                 const QueryValues& values) {
  Connection connection(file, OpenMode::read_only);
  Statement row(connection.get(), sql);
  std::vector<NamedValue> named;
  for (const auto& [name, cell] : values) named.push_back({name, value_of(cell)});
  row.bind(named);
  std::vector<std::string> rows;
  while (row.step()) {
    std::string& line = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(row.get()); ++i) line += text_of(row, i) + " | ";
  }
  std::ranges::sort(rows);
  return rows;
}

}  // namespace ak::db::test
