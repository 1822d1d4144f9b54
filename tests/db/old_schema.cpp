// SPDX-License-Identifier: Apache-2.0
#include "tests/db/old_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/file.h"
#include "db/schema.h"
#include "tests/support/patience.h"

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

std::vector<std::string> rows_of(const std::filesystem::path& file, const std::string& sql,
                                 const QueryValues& values) {
  const auto text = [](const Cell& cell) {
    if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{:.10g}", *real);
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
    if (const auto* words = std::get_if<std::string>(&cell)) return *words;
    return std::string("NULL");
  };
  std::vector<std::string> rows;
  for (const auto& row : query(file, sql, 0, testing::kPatience, values).rows) {
    std::string& line = rows.emplace_back();
    for (const Cell& cell : row) line += text(cell) + " | ";
  }
  std::ranges::sort(rows);
  return rows;
}

}  // namespace ak::db::test
