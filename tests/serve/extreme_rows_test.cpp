// SPDX-License-Identifier: Apache-2.0
// Whatever numbers a database holds, its report, its named queries and every page of the dashboard appear.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "db/read/named_queries.h"
#include "db/sqlite.h"
#include "serve/dashboard/database_pages.h"
#include "serve/pages/report/report.h"
#include "tests/db/synthetic_database.h"
#include "tests/support/run_program.h"

namespace ak::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLongTime{60'000};

const fs::path& honest_database() {
  static const TemporaryFolder folder;
  static const fs::path file = [] {
    const fs::path path = folder / "honest.db";
    db::test::make_synthetic_database(path, {.variants = 200});
    return path;
  }();
  return file;
}

std::vector<std::string> texts(db::Connection& connection, const std::string& sql) {
  std::vector<std::string> list;
  db::Statement statement(connection.get(), sql);
  while (statement.step()) list.push_back(statement.text(0));
  return list;
}

/// Sets every numeric column that is no key to `value` in every third row.
void spoil(const fs::path& file, const std::string& value) {
  db::Connection connection(file, db::OpenMode::create);
  connection.execute("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF");
  for (const std::string& name : texts(connection, "SELECT name FROM sqlite_schema WHERE type = 'trigger'"))
    connection.execute("DROP TRIGGER " + name);
  for (const std::string& set :
       texts(connection,
             "SELECT printf('UPDATE OR IGNORE \"%w\" SET \"%w\" = :value WHERE rowid %% 3 = 0', t.name, "
             "c.name) "
             "FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
             "WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE%' AND c.type IN ('INTEGER', 'REAL', 'ANY') "
             "AND c.pk = 0 "
             "AND t.sql NOT LIKE '%WITHOUT ROWID%' "
             "AND c.name NOT IN (SELECT \"from\" FROM pragma_foreign_key_list(t.name))")) {
    std::string sql = set;
    sql.replace(sql.find(":value"), 6, value);
    try {
      connection.execute(sql);
    } catch (const db::SqliteError&) {  // a column that does not take this value cannot hold it
    }
  }
}

void check_report(const fs::path& file) {
  const pages::Report report = pages::read_report({.database = file.string(),
                                                   .period = pages::date_period("", "2026-11-22", {}),
                                                   .searches = {},
                                                   .own_sections = {},
                                                   .time_limit = kLongTime});
  CHECK(pages::report_markdown(report).find("## Spend") != std::string::npos);
  CHECK(pages::report_html(report).find("</html>") != std::string::npos);
  CHECK(pages::report_json(report).size() > 1000);
  CHECK(pages::report_csv(report).size() > 5);
}

void check_queries(const fs::path& file) {
  for (const db::NamedQuery& query : db::named_queries({})) {
    INFO(query.name);
    std::vector<std::string> given;
    for (const db::QueryParameter& parameter : query.parameters)
      if (parameter.required) given.push_back(parameter.name + "=1");
    db::Table table;
    CHECK_NOTHROW(table = db::query(file, query.sql, 100, kLongTime, db::query_values(query, given)));
    CHECK_FALSE(db::render(table, db::TableFormat::table).empty());
  }
}

/// Checks every page and returns their HTML.
std::string check_dashboard(const fs::path& file) {
  std::string html;
  const dashboard::DatabasePages pages({.database = file, .time_limit = kLongTime});
  db::Connection connection(file, db::OpenMode::read_only);
  const std::string definition = texts(connection, "SELECT name FROM definitions LIMIT 1").front();
  const std::string device = texts(connection, "SELECT name FROM devices LIMIT 1").front();
  for (const pages::Page& page : pages.pages()) {
    dashboard::PageRequest request{.path = "/" + page.name, .query = {}};
    for (const db::QueryParameter& parameter : page.parameters)
      if (parameter.required)
        request.query[parameter.name] = parameter.name == "definition" ? definition
                                        : parameter.name == "device"   ? device
                                                                       : "3";
    if (page.name == "overview") request.path = "/";
    const dashboard::PageResponse response = pages(request);
    INFO(page.name << " " << response.body.substr(0, 2000));
    CHECK(response.status == 200);
    CHECK(response.body.find("</html>") != std::string::npos);
    html += response.body;
  }
  return html;
}

}  // namespace

TEST_CASE("pages and queries survive rows with any numbers") {
  const std::string value = GENERATE(as<std::string>{}, "9223372036854775807", "(-9223372036854775807 - 1)",
                                     "9e999", "-9e999", "NULL", "0", "-1", "1e308", "'many'");
  const TemporaryFolder folder;
  const fs::path file = folder / "extreme.db";
  fs::copy_file(honest_database(), file);
  spoil(file, value);
  INFO(value);
  check_report(file);
  check_queries(file);
  static_cast<void>(check_dashboard(file));
}

TEST_CASE("tokens beyond 64 bits are shown as the number that they are about") {
  const TemporaryFolder folder;
  const fs::path file = folder / "tokens.db";
  fs::copy_file(honest_database(), file);
  db::Connection(file, db::OpenMode::create)
      .execute(
          "UPDATE llm_calls SET input_tokens = 9200000000000000000, output_tokens = 9200000000000000000");
  const db::Table sum =
      db::query(file,
                "SELECT sum(n) FROM (SELECT input_tokens AS n FROM llm_calls UNION ALL VALUES "
                "(9200000000000000000), (9200000000000000000))",
                1, kLongTime);
  CHECK(std::get<double>(sum.rows.at(0).at(0)) > 9.2e18);
  check_report(file);
  static_cast<void>(check_dashboard(file));
}

TEST_CASE("text that is no JSON takes its table down to the row before it, and nothing else of the page") {
  const TemporaryFolder folder;
  const fs::path file = folder / "text.db";
  fs::copy_file(honest_database(), file);
  db::Connection(file, db::OpenMode::create)
      .execute(
          "PRAGMA ignore_check_constraints = ON; UPDATE variants SET tunables = '{\"B\": '; UPDATE devices "
          "SET facts = 'none'; "
          "UPDATE definitions SET definition = '[1]' WHERE id % 2; UPDATE evaluations SET request = '{'");
  check_report(file);
  CHECK(check_dashboard(file).find("cannot be computed: query: malformed JSON") != std::string::npos);
}

}  // namespace ak::testing
