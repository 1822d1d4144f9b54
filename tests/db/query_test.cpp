// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>

#include "core/error.h"
#include "core/text/file.h"
#include "db/sqlite.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

using std::chrono::milliseconds;

struct Filled {
  Filled() { Run(*open_store(folder.file())).commit(128); }
  [[nodiscard]] Table ask(std::string_view sql, std::size_t rows = 0) const {
    return query(folder.file(), sql, rows, testing::kPatience);
  }
  /// The message of the Error(bad_input) that the query throws, or "".
  [[nodiscard]] std::string refusal(std::string_view sql) const {
    try {
      static_cast<void>(ask(sql));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder;
};

TEST_CASE("a query answers with columns and typed cells") {
  const Filled db;
  const Table table = db.ask("SELECT 1 AS a, 0.5 AS b, 'x' AS c, x'00ff' AS d, NULL AS e");
  CHECK(table.columns == std::vector<std::string>{"a", "b", "c", "d", "e"});
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0] == std::vector<Cell>{std::int64_t{1}, 0.5, std::string("x"),
                                           std::vector<unsigned char>{0, 255}, std::monostate{}});
  CHECK_FALSE(table.truncated);
}

TEST_CASE("the row limit cuts the answer and says so, and only when there was more") {
  const Filled db;
  const std::string three = "VALUES (1), (2), (3)";
  CHECK(db.ask(three, 2).rows.size() == 2);
  CHECK(db.ask(three, 2).truncated);
  CHECK_FALSE(db.ask(three, 3).truncated);
  CHECK_FALSE(db.ask(three, 0).truncated);
}

TEST_CASE("a query that takes too long is stopped") {
  const Filled db;
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
  CHECK_THROWS_WITH(query(db.folder.file(), endless, 0, milliseconds(50)), Catch::Contains("50 ms"));
}

TEST_CASE("a value that would fill the memory is refused") {
  const Filled db;
  CHECK_FALSE(db.refusal("SELECT length(randomblob(900000000))").empty());
}

TEST_CASE("whatever would write, attach or change the connection is refused, and the file stays as it was") {
  const Filled db;
  const std::string before = read_file(db.folder.file());
  const std::string other = (db.folder.path() / "other.db").string();
  const std::vector<std::string> statements{
      "DELETE FROM evaluations",
      "INSERT INTO sources (uid, content_hash, text) VALUES (randomblob(16), 'h', 't')",
      "UPDATE variants SET name = 'x'",
      "WITH x AS (SELECT 1) DELETE FROM variants",
      "DROP TABLE checks",
      "CREATE TABLE t (x)",
      "CREATE TEMP TABLE t (x)",
      "ATTACH '" + other + "' AS other",
      "DETACH main",
      "VACUUM INTO '" + other + "'",
      "BEGIN IMMEDIATE",
      "PRAGMA user_version = 9",
      "PRAGMA application_id = 9",
      "PRAGMA journal_mode = DELETE",
      "PRAGMA journal_mode",
      "PRAGMA wal_checkpoint",
      "PRAGMA writable_schema = ON",
      "PRAGMA query_only = OFF",
      "REINDEX",
      "DROP TABLE nope",
      " \ninsert INTO nope VALUES (1)",
      "ANALYZE",
      "EXPLAIN DELETE FROM evaluations"};
  for (const std::string& sql : statements) {
    INFO(sql);
    CHECK(db.refusal(sql).find("only SELECT") != std::string::npos);
  }
  CHECK_FALSE(db.refusal("UPDATE sqlite_master SET sql = ''").empty());
  CHECK(read_file(db.folder.file()) == before);
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("reading of every kind is allowed") {
  const Filled db;
  for (const char* sql :
       {"SELECT * FROM benchmark_results", "VALUES (1)", "PRAGMA table_info(variants)",
        "SELECT name FROM pragma_table_info('variants')", "PRAGMA user_version",
        "SELECT value FROM json_each('[1, 2]')", "EXPLAIN QUERY PLAN SELECT * FROM leaderboard",
        "SELECT tunables ->> 'BLOCK' FROM variants", "SELECT count(*) FROM sqlite_schema", "SELECT 1;",
        "SELECT 1; -- done", "-- first\nSELECT 1 /* last */ ; ;"}) {
    INFO(sql);
    CHECK(db.refusal(sql).empty());
  }
}

TEST_CASE("one statement at a time") {
  const Filled db;
  CHECK(db.refusal("SELECT 1; SELECT 2").find("several") != std::string::npos);
  CHECK(db.refusal("SELECT 1; DROP TABLE variants").find("several") != std::string::npos);
  CHECK(db.refusal("SELECT 1; nonsense").find("several") != std::string::npos);
  CHECK(db.refusal("  -- nothing").find("got nothing") != std::string::npos);
}

TEST_CASE("a mistake is marked with a caret below its place") {
  const Filled db;
  CHECK_THAT(db.refusal("SELECT nope FROM variants"),
             Catch::Contains("\n  SELECT nope FROM variants\n         ^"));
  CHECK_THAT(db.refusal("SELECT id\nFROM variants\nWHERE nope = 1"),
             Catch::Contains("\n  WHERE nope = 1\n        ^"));
  CHECK_THAT(db.refusal("SELECT '\xC3\xA9', nope"),
             Catch::EndsWith("\n  SELECT '\xC3\xA9', nope\n              ^"));
  CHECK_THAT(db.refusal("SELECT 1 FRM variants x y"), Catch::Contains("^"));
  CHECK_THAT(db.refusal("SELECT json('{')"), Catch::Contains("malformed JSON"));
}

TEST_CASE("a query of a missing file says how to get one, and does not make it") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(query(folder.file(), "SELECT 1", 0, milliseconds(100)),
                    Catch::Contains("there is no database"));
  CHECK_FALSE(std::filesystem::exists(folder.file()));
}

TEST_CASE("a damaged file is an error of the database, not of the query") {
  const Filled db;
  Connection(db.folder.file(), OpenMode::create).execute("PRAGMA journal_mode = DELETE");
  std::string bytes = read_file(db.folder.file());
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_file_atomically(db.folder.file(), bytes);
  try {
    static_cast<void>(db.ask("SELECT * FROM evaluations"));
    FAIL("damage was not noticed");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::database);
  }
}

}  // namespace
}  // namespace ak::db::test
