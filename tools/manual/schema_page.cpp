// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "db/database.h"
#include "tools/manual/reference_pages.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemaIntroduction =
    "# Tables and columns\n\n"
    "Generated from a new database: `alphakernel manual --docs docs` writes it.\n"
    "[schema.md](../schema.md) says what the columns mean, and has examples.\n";

/// A new database that lives as long as this does.
class EmptyDatabase {
 public:
  EmptyDatabase() : folder_(fs::temp_directory_path() / fmt::format("alphakernel-schema-{}", ::getpid())) {
    fs::create_directories(folder_);
    static_cast<void>(db::open_store(file()));
  }
  ~EmptyDatabase() {
    std::error_code gone;
    fs::remove_all(folder_, gone);
  }
  EmptyDatabase(const EmptyDatabase&) = delete;
  EmptyDatabase& operator=(const EmptyDatabase&) = delete;

  [[nodiscard]] std::vector<std::vector<db::Cell>> rows(const std::string& sql) const {
    return db::query(file(), sql, 0, std::chrono::minutes(1)).rows;
  }

 private:
  [[nodiscard]] fs::path file() const { return folder_ / "empty.db"; }
  fs::path folder_;
};

const std::string& text_at(const std::vector<db::Cell>& row, std::size_t column) {
  return std::get<std::string>(row.at(column));
}

/// "`evaluations`.`id`" by "measurements.evaluation_id".
std::map<std::string, std::string> references(const EmptyDatabase& database) {
  std::map<std::string, std::string> found;
  for (const auto& row : database.rows("SELECT s.name, f.\"from\", f.\"table\", coalesce(f.\"to\", 'id') "
                                       "FROM sqlite_schema s, pragma_foreign_key_list(s.name) f "
                                       "WHERE s.type = 'table'"))
    found[text_at(row, 0) + "." + text_at(row, 1)] =
        fmt::format("`{}`.`{}`", text_at(row, 2), text_at(row, 3));
  return found;
}

std::string column_row(const std::vector<db::Cell>& row,
                       const std::map<std::string, std::string>& refers_to) {
  const bool required = std::get<std::int64_t>(row.at(4)) != 0, key = std::get<std::int64_t>(row.at(5)) != 0;
  const auto reference = refers_to.find(text_at(row, 1) + "." + text_at(row, 2));
  return fmt::format("| `{}` | {} | {} | {} |\n", text_at(row, 2), text_at(row, 3),
                     key        ? "primary key"
                     : required ? "never NULL"
                                : "",
                     reference == refers_to.end() ? "" : reference->second);
}

}  // namespace

std::string schema_page() {
  const EmptyDatabase database;
  const auto refers_to = references(database);
  std::string text = kSchemaIntroduction, name;
  // Tables with an underscore and a suffix are those in which SQLite keeps the index of insights' texts.
  for (const auto& row :
       database.rows("SELECT s.type, s.name, c.name, c.type, c.\"notnull\", c.pk "
                     "FROM sqlite_schema s, pragma_table_info(s.name) c "
                     "WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'insights_text_%' "
                     "ORDER BY s.type, s.name, c.cid")) {
    const bool table = text_at(row, 0) == "table";
    if (text_at(row, 1) != name) {
      name = text_at(row, 1);
      text +=
          fmt::format("\n## {} `{}`\n\n{}", table ? "Table" : "View", name,
                      table ? "| column | type | | refers to |\n|---|---|---|---|\n" : "| column |\n|---|\n");
    }
    text += table ? column_row(row, refers_to) : fmt::format("| `{}` |\n", text_at(row, 2));
  }
  return text;
}

}  // namespace ak::tools
