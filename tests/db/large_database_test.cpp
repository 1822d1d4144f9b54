// SPDX-License-Identifier: Apache-2.0
// What makes large databases quick (schema version 17) changes no answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/text/file.h"
#include "db/merge/database_export.h"
#include "db/merge/merge.h"
#include "db/merge/verify.h"
#include "db/read/named_queries.h"
#include "db/schema.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"
#include "tests/db/synthetic_database.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

namespace fs = std::filesystem;

void execute_with_keys(const fs::path& file, const std::string& sql) {
  execute(file, "PRAGMA foreign_keys = ON;" + sql);
}

/// What a table of version 16 is called now.
std::string present_name(const std::string& table) {
  if (table == "sessions") return "searches";
  if (table == "campaigns") return "sessions";
  return table == "campaign_runs" ? "session_searches" : table;
}

/// Its columns, as they are found now.
std::string columns_of_16(const std::string& table) {
  if (table == "variants")
    return "id, uid, definition_id, source_id, variant_hash, name, (SELECT plan FROM other.plans p WHERE "
           "p.id = "
           "plan_id), params, tunables";
  if (table == "sources") return "id, uid, content_hash, text || headers";
  // A group has one check here, so that its figures are those of the check.
  if (table == "checks")
    return "NULL, randomblob(16), evaluation_id, workload_id, distribution, input_seed, tensor, passed, "
           "(SELECT "
           "f.max_error FROM other.check_figures f WHERE f.evaluation_id = checks.evaluation_id AND "
           "f.workload_id = "
           "checks.workload_id AND f.input_seed = checks.input_seed), (SELECT f.mean_error FROM "
           "other.check_figures f "
           "WHERE f.evaluation_id = checks.evaluation_id AND f.workload_id = checks.workload_id AND "
           "f.input_seed = "
           "checks.input_seed), tolerance, worst_index, worst_expected, worst_got, nonfinite_mismatches";
  return "*";
}

/// The columns of a table of now, as many as the one of then has.
std::string first_columns(Connection& connection, const std::string& now, const std::string& then) {
  Statement names(connection.get(),
                  fmt::format("SELECT group_concat('\"' || name || '\"') FROM (SELECT name FROM "
                              "pragma_table_info('{}', 'other') WHERE cid < (SELECT count(*) FROM "
                              "pragma_table_info('{}', 'main')) ORDER BY cid)",
                              now, then));
  names.step();
  return names.text(0);
}

/// The rows of `from` in a file of schema version 16.
void copy_as_version_16(const fs::path& from, const fs::path& to) {
  make_old_database(to, 16);
  Connection connection(to, OpenMode::create);
  connection.execute(fmt::format("PRAGMA foreign_keys = OFF; ATTACH '{}' AS other", from.string()));
  std::vector<std::string> tables;
  Statement names(
      connection.get(),
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'insights_text%' "
      "AND name NOT LIKE 'sqlite_%'");
  while (names.step()) tables.push_back(names.text(0));
  names.reset();
  for (const std::string& table : tables) {
    // A table that has got columns since has those of then first.
    std::string columns = columns_of_16(table);
    if (columns == "*") columns = first_columns(connection, present_name(table), table);
    connection.execute(
        fmt::format("INSERT INTO main.{} SELECT {} FROM other.{}", table, columns, present_name(table)));
  }
}

/// Columns whose meaning changed on purpose are left out: what a search came to, and places by it, in version 19; costs
/// of which a part has no price, in version 20. So are those of version 32: whose shapes are on a front.
std::string columns_alike(const std::string& view) {
  if (view == "experiments")
    return "definition, device, arch, proposer, strategy, seed, status, reason, started_at, ended_at, "
           "command";
  if (view == "leaderboard")
    return "definition, device, device_kind, arch, variant, template, tunables, score_us, emulated_cost_us, "
           "status";
  if (view == "pareto_front")
    return "definition, device, device_kind, arch, variant, template, tunables, score_us, emulated_cost_us, "
           "energy_joule, max_error, shared_bytes";
  if (view == "hypervolume") return "definition, device, device_kind, arch, objective, points, hypervolume";
  if (view == "spend") return "model, calls, input_tokens, output_tokens";
  if (view == "llm_arms")
    return "model, arm, exchanges, calls, mean_reward, took_the_lead, input_tokens, output_tokens";
  return "*";
}

struct Databases {
  Databases() {
    make_synthetic_database(now());
    copy_as_version_16(now(), before());
  }
  [[nodiscard]] fs::path now() const { return folder.path() / "now.db"; }
  [[nodiscard]] fs::path before() const { return folder.path() / "before.db"; }
  TemporaryFolder folder;
};

TEST_CASE("every view has the rows that it had before there were tables for large databases") {
  const Databases databases;
  const auto views = rows_of(databases.before(), "SELECT name FROM sqlite_schema WHERE type = 'view'");
  CHECK(views.size() >= 18);
  for (const std::string& line : views) {
    const std::string view = line.substr(0, line.find(' '));
    INFO(view);
    const std::string sql = fmt::format("SELECT {} FROM {}", columns_alike(view), view);
    const auto before = rows_of(databases.before(), sql), now = rows_of(databases.now(), sql);
    CHECK(!before.empty());
    CHECK((before == now));  // in parentheses: no megabytes of rows in the log
  }
}

TEST_CASE("a quick named query answers what its plain form does") {
  const Databases databases;
  const auto queries = named_queries({});
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(AK_SOURCE_DIR "/tests/db/plain_queries")) {
    const NamedQuery plain = parse_named_query(entry.path().stem().string(), read_file(entry.path()));
    const auto quick = std::ranges::find(queries, plain.name, &NamedQuery::name);
    INFO(plain.name);
    REQUIRE(quick != queries.end());
    CHECK(quick->title == plain.title);
    std::vector<std::vector<std::string>> calls{{}};
    if (plain.name == "lineage") calls = {{"variant=1"}, {"variant=1500"}, {"variant=1999"}};
    if (plain.name == "spills")
      calls = {{"limit=100000"}};  // which of equals come last in a short list is open
    if (plain.name == "leaderboard")
      calls = {
          {}, {"places=1"}, {"places=0"}, {"places=100000"}, {"definition=softmax_bf16"}, {"arch=sm_80"}};
    for (const auto& given : calls) {
      INFO(fmt::format("{}", fmt::join(given, " ")));
      // Those about searches ask the views of now, which say what a search came to.
      const bool of_now = plain.name == "leaderboard" || plain.name == "rate" || plain.name == "spend";
      const auto expected =
          rows_of(of_now ? databases.now() : databases.before(), plain.sql, query_values(plain, given));
      CHECK((rows_of(databases.now(), quick->sql, query_values(*quick, given)) == expected));
      CHECK(expected.empty() == (given == std::vector<std::string>{"places=0"}));
    }
    ++compared;
  }
  CHECK(compared >= 7);
}

TEST_CASE("a database of the version before is brought up to date with its rows") {
  const Databases databases;
  static_cast<void>(open_store(databases.before()));
  CHECK(verify(databases.before()).empty());
  for (const char* table : {"scores", "search_figures"})
    CHECK((rows_of(databases.before(), fmt::format("SELECT * FROM {}", table)) ==
           rows_of(databases.now(), fmt::format("SELECT * FROM {}", table))));
}

TEST_CASE("the scores follow what is done to a leader") {
  const TemporaryFolder folder;
  const auto file = folder.file();
  const auto store = open_store(file);
  Run run(*store);
  const auto scored = [&] { return integer(file, "SELECT count(*) FROM scores"); };
  const auto commit = [&](Status status, const char* arm) {
    const EvaluationRequest request = run.request(128);
    run.commit(request, Run::result(status, 1e6), arm);
    CHECK(verify(file).empty());
  };
  commit(Status::ok, "random");
  run.commit(256);
  CHECK(scored() == 2);
  commit(Status::ok, "comparison");
  CHECK(scored() == 2);
  commit(Status::ok, "final");
  CHECK(scored() == 2);  // instead of the first
  commit(Status::incorrect, "held_out");
  CHECK(scored() == 1);
  commit(Status::compile_error, "random");
  CHECK(scored() == 1);
  CHECK(integer(file, "SELECT evaluations FROM search_figures") == 6);
  CHECK(integer(file, "SELECT searched FROM search_figures") == 3);
  CHECK(integer(file, "SELECT verified FROM search_figures") == 2);
}

TEST_CASE("the derived tables follow rows that are changed, taken away or come out of order") {
  const TemporaryFolder folder;
  const auto file = folder.file();
  {
    const auto store = open_store(file);
    Run run(*store);
    for (int block = 1; block <= 4; ++block) run.commit(block, Status::ok, 1e6 * block);
    run.commit(run.request(1), Run::result(Status::incorrect, 1e6), "held_out");
  }
  const auto first_board = [&] { return rows_of(file, "SELECT variant FROM leaderboard WHERE place = 1"); };
  const auto after = [&](const std::string& sql) {
    execute_with_keys(file, sql);
    INFO(sql);
    CHECK(verify(file).empty());
    return first_board();
  };
  CHECK(first_board() == std::vector<std::string>{"2 | "});
  CHECK(after("UPDATE evaluations SET score_ns = 10 WHERE id = 4") == std::vector<std::string>{"4 | "});
  CHECK(after("UPDATE evaluations SET status = 'race' WHERE id = 4") == std::vector<std::string>{"2 | "});
  CHECK(after("UPDATE evaluations SET status = 'ok', score_ns = NULL WHERE id = 4") ==
        std::vector<std::string>{"2 | "});
  CHECK(after("UPDATE evaluations SET status = 'ok' WHERE id = 5") == std::vector<std::string>{"1 | "});
  CHECK(after("UPDATE evaluations SET status = 'race' WHERE id = 5") == std::vector<std::string>{"2 | "});
  const std::string of_4 =
      "DELETE FROM evaluation_checks WHERE evaluation_id = {0}; DELETE FROM measurements WHERE evaluation_id "
      "= {0};"
      "DELETE FROM evaluations WHERE id = {0}";
  CHECK(after(fmt::format(fmt::runtime(of_4), 2)) == std::vector<std::string>{"3 | "});
  CHECK(after(fmt::format(fmt::runtime(of_4), 5)) == std::vector<std::string>{"1 | "});
  // A row before another of its variant and search: the later one has spoken.
  CHECK(after("UPDATE proposals SET arm = 'final' WHERE id = 3;"
              "UPDATE evaluations SET score_ns = 5e5 WHERE id = 3;"
              "CREATE TEMP TABLE e AS SELECT * FROM evaluations WHERE id = 3;"
              "UPDATE e SET id = 2, uid = zeroblob(16), score_ns = 1;"
              "INSERT INTO evaluations SELECT * FROM e") == std::vector<std::string>{"3 | "});
}

TEST_CASE("verify names rows of a derived table that are not what they should be") {
  const TemporaryFolder folder;
  make_synthetic_database(folder.file(), {.variants = 60});
  CHECK(verify(folder.file()).empty());
  execute_with_keys(folder.file(),
                    "DELETE FROM scores WHERE evaluation_id = (SELECT min(evaluation_id) FROM scores)");
  execute_with_keys(folder.file(), "UPDATE search_figures SET verified = verified + 1 WHERE search_id = 1");
  const auto wrong = verify(folder.file());
  REQUIRE(wrong.size() == 3);
  CHECK_THAT(wrong[0], Catch::StartsWith("scores: 1 rows are missing"));
  CHECK_THAT(wrong[1], Catch::StartsWith("search_figures: 1 rows should not be there"));
}

TEST_CASE("the derived tables of merged and exported databases are right") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", b = folder.path() / "b.db", all = folder.path() / "all.db";
  make_synthetic_database(a, {.variants = 200, .seed = 1});
  make_synthetic_database(b, {.variants = 200, .seed = 2});
  static_cast<void>(merge(all, a));
  static_cast<void>(merge(all, b));
  static_cast<void>(merge(all, a));
  CHECK(verify(all).empty());
  const auto count = [](const fs::path& file) { return integer(file, "SELECT count(*) FROM scores"); };
  CHECK(count(all) == count(a) + count(b));
  CHECK(export_since(all, folder.path() / "week.db", "2026-11-15") >= 1);
  CHECK(verify(folder.path() / "week.db").empty());
  CHECK(count(folder.path() / "week.db") < count(all));
}

}  // namespace
}  // namespace ak::db::test
