// SPDX-License-Identifier: Apache-2.0
// Queries that try to use up the machine, or to do more than read, each in the process that the program gives it.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text/locations.h"
#include "db/read/named_queries.h"
#include "db/read/query_process.h"
#include "db/read/reader.h"
#include "db/sqlite.h"
#include "tests/db/synthetic_database.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A database as searches leave it, and the program that runs queries on it.
struct QueriedDatabase {
  QueriedDatabase() {
    set_locations({.program = AK_PROGRAM, .config = {}});
    db::test::make_synthetic_database(file, {.variants = 300});
  }
  ~QueriedDatabase() { set_locations({}); }
  QueriedDatabase(const QueriedDatabase&) = delete;
  QueriedDatabase& operator=(const QueriedDatabase&) = delete;

  [[nodiscard]] db::Table ask(std::string_view sql, milliseconds time = kPatience,
                              const db::QueryValues& values = {}) const {
    return db::query_apart(file, sql, {.time = time}, values);
  }
  /// The message of the Error(bad_input) that a query ends with, or "".
  [[nodiscard]] std::string refusal(const std::string& sql, milliseconds time = kPatience) const {
    try {
      static_cast<void>(ask(sql, time));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "large.db";
};

rusage of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return used;
}

seconds processor_time(const rusage& used) { return seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec); }

struct HostileQuery {
  const char* sql;
  const char* reason;  ///< part of the message
};

const std::string kNumbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";

TEST_CASE("a query that would fill the memory ends, says what it reached, and stays below the bound") {
  const QueriedDatabase database;
  for (const auto& [sql, reason] :
       {HostileQuery{"SELECT zeroblob(900000000)", "at most 32 MiB"},
        {"SELECT randomblob(900000000)", "at most 32 MiB"},
        {"SELECT printf('%.*c', 900000000, 'x')", ""},  // SQLite's answer is NULL,
        {"SELECT hex(zeroblob(30000000))", "at most 32 MiB"},
        {"SELECT replace(hex(zeroblob(100000)), '0', hex(zeroblob(100000)))", "at most 32 MiB"},
        {"SELECT group_concat(hex(zeroblob(1000000))) FROM few", "at most 32 MiB"},
        {"SELECT json_group_array(hex(zeroblob(1000000))) FROM few", "256 MiB of memory"},
        {"SELECT json_group_object(i, hex(zeroblob(1000000))) FROM few", "256 MiB of memory"},
        {"SELECT zeroblob(30000000) FROM n", "the answer has more than 256 MiB"},
        {"SELECT a.v, b.v, c.v, d.v, e.v, f.v, g.v, h.v, i.v FROM big a, big b, big c, big d, big e, big f, "
         "big g, "
         "big h, big i ORDER BY random()",
         "256 MiB of memory"}}) {
    INFO(sql);
    const std::string more =
        ", few AS (SELECT i FROM n LIMIT 1000), big(v) AS (SELECT randomblob(30000000)) ";
    CHECK_THAT(database.refusal(kNumbers + more + sql), Catch::Contains(reason));
  }
  // Many small cells, too: what counts is the memory that they take.
  CHECK_THROWS_WITH(db::query_apart(database.file, kNumbers + "SELECT NULL FROM n",
                                    {.time = kPatience, .answer_bytes = 32 << 20}),
                    Catch::Contains("the answer has more than 32 MiB"));
  constexpr long kKiB = 1024;
  CHECK(of_children().ru_maxrss < static_cast<long>(db::kMaxQueryProcessBytes) / kKiB);
}

TEST_CASE("a query that would not end is ended, also within one step of SQLite's") {
  const QueriedDatabase database;
  for (const char* sql :
       {"SELECT max(i) FROM n", "SELECT i FROM n ORDER BY i DESC",
        "SELECT count(*) FROM evaluations a, evaluations b, evaluations c, evaluations d WHERE a.id < b.id + "
        "c.id",
        "SELECT instr(zeroblob(32000000), zeroblob(16000000) || x'01')",
        "SELECT hex(zeroblob(15000000)) LIKE '%' || hex(zeroblob(400)) || '1%'",
        "SELECT hex(zeroblob(15000000)) GLOB '*' || hex(zeroblob(400)) || '1*'",
        "SELECT count(DISTINCT hex(i)) FROM n", "SELECT sum(i) OVER (ORDER BY i DESC) FROM n"}) {
    INFO(sql);
    const auto before = processor_time(of_children());
    CHECK_THAT(database.refusal(kNumbers + sql, milliseconds(300)),
               Catch::Contains("stopped after 300 ms; narrow it"));
    // The system allows it three seconds of the processor, however slow the machine is.
    CHECK(processor_time(of_children()) - before <= seconds(5));
  }
}

TEST_CASE("what sorts more than the temporary files may hold ends and says so") {
  const QueriedDatabase database;
  const ProgramResult result =
      run_program({"/bin/sh", "-c", "ulimit -f 4096; exec \"$0\" \"$@\"", AK_PROGRAM, "query", "--timeout",
                   std::to_string(seconds(kPatience).count()), "--db", database.file.string(),
                   kNumbers + "SELECT i, hex(randomblob(500)) AS x FROM n ORDER BY x"});
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(result.err, Catch::Contains("temporary files"));
}

TEST_CASE("a query may call what computes, and nothing that loads, hands out pointers or writes") {
  const QueriedDatabase database;
  for (const char* sql : {"SELECT hex(fts3_tokenizer('simple'))", "SELECT load_extension('/tmp/x.so')",
                          "SELECT fts5(?1)", "SELECT rtreecheck('main', 'x')"}) {
    INFO(sql);
    CHECK_THAT(database.refusal(sql), Catch::Contains("not authorized to use function") &&
                                          Catch::Contains("functions that compute"));
  }
  for (const char* sql :
       {"ATTACH ':memory:' AS other", "PRAGMA temp_store_directory = '/tmp'", "PRAGMA trusted_schema = ON",
        "PRAGMA hard_heap_limit = 0", "CREATE TEMP TABLE t (x)"}) {
    INFO(sql);
    CHECK_THAT(database.refusal(sql), Catch::Contains("only SELECT"));
  }
  CHECK_THAT(database.refusal("SELECT 'x' LIKE hex(zeroblob(600))"), Catch::Contains("at most 1000 bytes"));
  CHECK_THAT(database.refusal("SELECT 1 -- " + std::string(2'000'000, 'x')),
             Catch::Contains("at most 1000000 bytes"));
}

TEST_CASE("every named query answers in a process of its own what it answers without") {
  const QueriedDatabase database;
  for (const db::NamedQuery& named : db::named_queries({})) {
    INFO(named.name);
    std::vector<std::string> given;
    for (const db::QueryParameter& parameter : named.parameters) {
      if (parameter.required) given.push_back(parameter.name + "=1");
    }
    const db::QueryValues values = db::query_values(named, given);
    const db::Table plain = db::query(database.file, named.sql, 0, kPatience, values);
    const db::Table apart = database.ask(named.sql, kPatience, values);
    CHECK(apart.columns == plain.columns);
    CHECK((apart.rows == plain.rows));  // in parentheses: no megabytes of rows in the log
  }
}

TEST_CASE("every cell arrives as it was") {
  const QueriedDatabase database;
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string bytes("a\0\xff\n", 4);
  const db::Table table = database.ask(
      "SELECT :least, :most, 9e999 AS infinite, 1e-310, :bytes, x'00ff', x'', '', NULL, :none", kPatience,
      {{"least", Limits::min()}, {"most", Limits::max()}, {"bytes", bytes}, {"none", std::monostate{}}});
  CHECK(table.columns[2] == "infinite");
  REQUIRE(table.rows.size() == 1);
  using Blob = std::vector<unsigned char>;
  CHECK(table.rows[0] == std::vector<db::Cell>{Limits::min(), Limits::max(), HUGE_VAL, 1e-310, bytes,
                                               Blob{0, 255}, Blob{}, std::string(), std::monostate{},
                                               std::monostate{}});
  const db::Table cut =
      db::query_apart(database.file, "VALUES (1), (2), (3)", {.rows = 2, .time = kPatience});
  CHECK(cut.rows.size() == 2);
  CHECK(cut.truncated);
}

TEST_CASE("a process that cannot be started or ends without an answer is an error of the environment") {
  const QueriedDatabase database;
  set_locations({.program = database.folder / "nothing", .config = {}});
  CHECK_THROWS_WITH(database.ask("SELECT 1"), Catch::Contains("cannot start a process for the query"));
  set_locations({.program = "/bin/true", .config = {}});
  CHECK_THROWS_WITH(database.ask("SELECT 1"), Catch::Contains("ended with code 0 without an answer"));
  set_locations({.program = "/bin/echo", .config = {}});
  CHECK_THROWS_WITH(database.ask("SELECT 1"),
                    Catch::Contains("something that is no answer") || Catch::Contains("without an answer"));
}

}  // namespace
}  // namespace ak::testing
