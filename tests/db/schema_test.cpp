// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "core/text/file.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

using Columns = std::map<std::string, std::vector<std::string>>;

/// Tables and views of a new database with their columns in order.
Columns real_schema() {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  Columns columns;
  const Table table =
      query(folder.file(),
            "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c "
            "WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'insights_text_%' ORDER BY s.name, c.cid",
            0, testing::kPatience);
  for (const auto& row : table.rows)
    columns[std::get<std::string>(row[0])].push_back(std::get<std::string>(row[1]));
  return columns;
}

/// The first `code` on the line, or "".
std::string code_of(const std::string& line) {
  const auto begin = line.find('`');
  const auto end = line.find('`', begin + 1);
  return begin == std::string::npos || end == std::string::npos ? ""
                                                                : line.substr(begin + 1, end - begin - 1);
}

/// "### `name`" begins a table or view; "| `column` | unit | meaning |" is one of its columns.
Columns documented_schema() {
  std::istringstream page(read_file(std::string(AK_SOURCE_DIR) + "/docs/schema.md"));
  Columns columns;
  std::string name;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) name = line.starts_with("### `") ? code_of(line) : "";
    if (!name.empty()) columns[name];
    if (name.empty() || !line.starts_with("| `")) continue;
    columns[name].push_back(code_of(line));
    INFO(line);
    CHECK(std::count(line.begin(), line.end(), '|') == 4);      // column, unit, meaning
    CHECK(line.size() > line.rfind('|', line.size() - 2) + 8);  // a meaning is more than a word
  }
  return columns;
}

TEST_CASE("docs/schema.md names every table, view and column, in order, and no others") {
  const Columns real = real_schema(), documented = documented_schema();
  for (const auto& [name, columns] : real) {
    INFO(name);
    REQUIRE(documented.contains(name));
    CHECK(documented.at(name) == columns);
  }
  for (const auto& [name, columns] : documented) {
    INFO(name);
    CHECK(real.contains(name));
  }
}

TEST_CASE("the example queries of docs/schema.md run") {
  const TemporaryFolder folder;
  Run(*open_store(folder.file())).commit(128);
  const std::string page = read_file(std::string(AK_SOURCE_DIR) + "/docs/schema.md");
  int examples = 0;
  for (std::size_t at = page.find("```sql\n"); at != std::string::npos; at = page.find("```sql\n", at)) {
    at += 7;
    const std::string sql = page.substr(at, page.find("```", at) - at);
    INFO(sql);
    CHECK_NOTHROW(query(folder.file(), sql, 0, testing::kPatience));
    ++examples;
  }
  CHECK(examples >= 5);
}

TEST_CASE("every table but those owned by one row of another has a 16-byte uid") {
  const std::set<std::string> owned{"audit_findings", "build_kernels", "evaluation_checks", "journal",
                                    "pool_places",    "scores",        "search_figures",    "session_rounds",
                                    "set_members",    "set_shapes",    "variant_parents",   "verdicts"};
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  const Table tables =
      query(folder.file(),
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'insights_text%'", 0,
            testing::kPatience);
  CHECK(tables.rows.size() >= 18);
  for (const auto& row : tables.rows) {
    const std::string name = std::get<std::string>(row[0]), sql = std::get<std::string>(row[1]);
    INFO(name);
    CHECK((sql.find("uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16)") != std::string::npos) !=
          owned.contains(name));
    CHECK(sql.ends_with("STRICT"));
  }
}

TEST_CASE("benchmark_results has the columns benchmark suites ask for") {
  const std::vector<std::string> columns = real_schema().at("benchmark_results");
  const std::set<std::string> have(columns.begin(), columns.end());
  for (const char* name : {"output_correct", "max_error", "mean_error", "throughput_tflops", "latency_ms",
                           "memory_bandwidth_gbs", "occupancy", "sm_efficiency", "memory_efficiency",
                           "register_usage", "shared_mem_usage", "speedup_vs_naive", "speedup_vs_pytorch",
                           "pct_of_reference", "definition", "workload", "variant", "device", "search"}) {
    INFO(name);
    CHECK(have.contains(name));
  }
}

}  // namespace
}  // namespace ak::db::test
