// SPDX-License-Identifier: Apache-2.0
#include "db/read/named_queries.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "core/text/file.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

Table run(const std::filesystem::path& file, const NamedQuery& named,
          const std::vector<std::string>& given = {}) {
  return query(file, named.sql, 0, testing::kPatience, query_values(named, given));
}

TEST_CASE("every shipped query runs on an empty database and on one with a search") {
  const TemporaryFolder folder;
  static_cast<void>(open_store((folder.path() / "empty.db")));
  Run(*open_store(folder.file())).commit(128);
  const auto queries = named_queries({});
  CHECK(queries.size() >= 20);
  for (const NamedQuery& named : queries) {
    INFO(named.name);
    std::vector<std::string> given;
    for (const QueryParameter& parameter : named.parameters) {
      CHECK_FALSE(parameter.help.empty());
      if (parameter.required) given.push_back(parameter.name + "=1");
    }
    CHECK(run((folder.path() / "empty.db"), named, given).columns.size() >= 3);
    CHECK_NOTHROW(run(folder.file(), named, given));
    CHECK(named.title.ends_with('.'));
  }
}

TEST_CASE("a query answers about what its parameters say") {
  const TemporaryFolder folder;
  Run(*open_store(folder.file())).commit(128);
  const auto queries = named_queries({});
  const auto& leaderboard = *std::ranges::find(queries, "leaderboard", &NamedQuery::name);
  CHECK(run(folder.file(), leaderboard).rows.size() == 1);
  CHECK(run(folder.file(), leaderboard, {"definition=other"}).rows.empty());
  CHECK(run(folder.file(), leaderboard, {"places=0"}).rows.empty());
  const auto& devices = *std::ranges::find(queries, "devices", &NamedQuery::name);
  CHECK(run(folder.file(), devices).rows.size() == 1);
}

TEST_CASE("docs/queries.md lists every query with its title and parameters") {
  const std::string page = read_file(AK_SOURCE_DIR "/docs/queries.md");
  for (const NamedQuery& named : named_queries({})) {
    INFO(named.name);
    const std::size_t row = page.find("| `" + named.name + "` | " + named.title);
    REQUIRE(row != std::string::npos);
    const std::string line = page.substr(row, page.find('\n', row) - row);
    for (const QueryParameter& parameter : named.parameters)
      CHECK(line.find("`" + parameter.name + "`") != std::string::npos);
  }
}

/// Of every row "tried_by p fast/problems without_baseline".
std::vector<std::string> fast_p(const std::filesystem::path& file, const std::vector<std::string>& given) {
  const auto queries = named_queries({});
  const Table table = run(file, *std::ranges::find(queries, "fast_p", &NamedQuery::name), given);
  std::vector<std::string> rows;
  for (const auto& row : table.rows) {
    const std::string by = std::holds_alternative<std::string>(row[0])
                               ? std::get<std::string>(row[0])
                               : fmt::format("{}", std::get<std::int64_t>(row[0]));
    rows.push_back(fmt::format("{} {:g} {}/{} {}", by, std::get<double>(row[3]),
                               std::get<std::int64_t>(row[5]), std::get<std::int64_t>(row[4]),
                               std::get<std::int64_t>(row[7])));
  }
  return rows;
}

TEST_CASE("fast_p counts problems that failed, and takes the best kernel of those that did not") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run good(*store), bad(*store);
  good.commit(128, Status::ok, 1'600'000);
  good.commit(256, Status::ok, 1'000'000);  // the baseline takes 2,000,000 ns
  bad.commit(128, Status::incorrect);
  using Rows = std::vector<std::string>;
  CHECK(fast_p(folder.file(), {"p=0,1.5,2,2.5"}) == Rows{"1 0 1/1 0", "1 1.5 1/1 0", "1 2 1/1 0",
                                                         "1 2.5 0/1 0", "2 0 0/1 0", "2 1.5 0/1 0",
                                                         "2 2 0/1 0", "2 2.5 0/1 0"});
  CHECK(fast_p(folder.file(), {"by=device", "p=1"}) == Rows{"Test GPU 1 1/1 0"});
  CHECK(fast_p(folder.file(), {"by=arm", "p=2", "problems=definition"}) == Rows{"random 2 1/1 0"});
  CHECK(fast_p(folder.file(), {"by=model", "p=2"}) == Rows{"no model 2 1/1 0"});
  CHECK(fast_p(folder.file(), {"by=device", "baseline=n*", "p=2"}) == Rows{"Test GPU 2 1/1 0"});
  CHECK(fast_p(folder.file(), {"by=device", "baseline=fastest", "p=2"}) == Rows{"Test GPU 2 1/1 0"});
  CHECK(fast_p(folder.file(), {"by=device", "baseline=pytorch*", "p=0,1"}) ==
        Rows{"Test GPU 0 1/1 1", "Test GPU 1 0/1 1"});
  CHECK(fast_p(folder.file(), {"definition=other"}).empty());
}

TEST_CASE("values of parameters are checked, and what is wrong is said") {
  const NamedQuery named =
      parse_named_query("q",
                        "-- Title.\n-- n: a number (integer, 20)\n-- v: it (integer, required)\n"
                        "-- t: a text (text)\nSELECT :n, :v, :t");
  REQUIRE(named.parameters.size() == 3);
  const std::vector<std::string> good{"v=3", "t=a=b"};
  CHECK(std::get<std::int64_t>(query_values(named, good).at("n")) == 20);
  CHECK(std::get<std::string>(query_values(named, good).at("t")) == "a=b");
  const auto input_error = [&](std::vector<std::string> given) {
    try {
      static_cast<void>(query_values(named, given));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK_THAT(input_error({}), Catch::Contains("needs v=NUMBER: it"));
  CHECK_THAT(input_error({"v=x"}), Catch::Contains("v: expected an integer"));
  CHECK_THAT(input_error({"v=1", "m=2"}),
             Catch::Contains("'m' is not a parameter") && Catch::Contains("n, v, t"));
  CHECK_THROWS_WITH(parse_named_query("q", "SELECT 1"), Catch::Contains("expected a title"));
  CHECK_THROWS_WITH(parse_named_query("q", "-- T.\n-- x\nSELECT 1"),
                    Catch::Contains("name: help (type, default)"));
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  CHECK_THROWS_WITH(query(folder.file(), "SELECT :a", 0, std::chrono::seconds(1)),
                    Catch::Contains("parameter :a"));
}

TEST_CASE("a user's own file adds a query or replaces a shipped one") {
  const TemporaryFolder folder;
  std::ofstream((folder.path() / "leaderboard.sql")) << "-- Mine.\nSELECT 1 AS one";
  std::ofstream((folder.path() / "zzz.sql")) << "-- New.\nSELECT 2 AS two";
  const auto queries = named_queries(folder.path());
  CHECK(std::ranges::find(queries, "leaderboard", &NamedQuery::name)->title == "Mine.");
  CHECK(queries.back().name == "zzz");
}

}  // namespace
}  // namespace ak::db::test
