// SPDX-License-Identifier: Apache-2.0
// Schema version 18 calls a run of the loop a search and a queue of them a session. No row is lost or changed.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "db/merge/merge.h"
#include "db/merge/verify.h"
#include "db/schema.h"
#include "db/upgrade.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"
#include "tests/support/daily_sample.h"

namespace ak::db::test {
namespace {

namespace fs = std::filesystem;

constexpr int kBefore = 17;  // the last version with the old names

/// Rows that tables have had since version 1: two searches of one problem, each with an evaluation.
constexpr const char* kTwoSearches = R"sql(
  INSERT INTO environments VALUES (1, randomblob(16), 'e', 'host', 'Linux', 13000, '1.0');
  INSERT INTO devices (id, uid, kind, name, uuid, arch, sm_count, l2_bytes, memory_bytes, facts)
    VALUES (1, randomblob(16), 'cuda', 'NVIDIA H200', 'GPU-1', 'sm_90', 132, 1, 1, '{}');
  INSERT INTO definitions (id, uid, content_hash, name, problem, params, definition)
    VALUES (1, randomblob(16), 'd', 'softmax_float32', 'softmax', '{}', '{}');
  INSERT INTO sources (id, uid, content_hash, text) VALUES
    (1, randomblob(16), '982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1', 'text');
  INSERT INTO variants (id, uid, definition_id, source_id, variant_hash, name, plan, params, tunables)
    VALUES (1, randomblob(16), 1, 1, 'v', 'mine', '{}', '{}', '{"BLOCK": 128}');
  INSERT INTO sessions (id, uid, definition_id, device_id, environment_id, arch, command, proposer, strategy, seed, budgets,
      status, reason, best_variant_id, started_at)
    VALUES (7, randomblob(16), 1, 1, 1, 'sm_90a', 'generate', 'search', 'random', 1, '{}', 'finished', 'a', 1, '2026-01-01'),
           (9, randomblob(16), 1, 1, 1, 'sm_90a', 'generate', 'llm', 'random', 2, '{}', 'stopped', 'b', NULL, '2026-01-02');
  INSERT INTO proposals (id, uid, session_id, variant_id, iteration, proposer, arm)
    VALUES (1, randomblob(16), 7, 1, 0, 'search', 'random'), (2, randomblob(16), 9, 1, 0, 'search', 'random');
  INSERT INTO evaluations (id, uid, session_id, proposal_id, variant_id, device_id, depth, input_seed, request, status, stage,
      message, diagnostics, score_ns, cache_hit, queue_ms, build_ms, device_wait_ms, check_ms, time_ms, gpu_busy_ms,
      total_ms, started_at, ended_at)
    VALUES (1, randomblob(16), 7, 1, 1, 1, 'time', 1, '{}', 'ok', 'time', '', '[]', 2000, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 'x'),
           (2, randomblob(16), 9, 2, 1, 1, 'time', 1, '{}', 'ok', 'time', '', '[]', 1000, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 'x');
)sql";

/// And those of version 17: a queue of both searches and of one that never began, one without any.
constexpr const char* kQueues = R"sql(
  INSERT INTO llm_calls (id, uid, session_id, model, prompt_version, request, status, started_at, arm)
    VALUES (1, randomblob(16), 9, 'm', '1', '{}', 'ok', 'x', 'crossover');
  INSERT INTO insights (id, uid, session_id, kind, text, evidence, created_at, algorithm, arch, device, device_kind, subject)
    VALUES (1, randomblob(16), 9, 'tunable', 'a sentence', '{}', 'x', 'softmax', 'sm_90', 'NVIDIA H200', 'cuda', 'BLOCK');
  INSERT INTO campaigns (id, uid, name, command, folder, budgets, status, reason, stop_requested, started_at)
    VALUES (3, randomblob(16), 'night', 'session start', '/', '{}', 'running', '', 0, 'x'),
           (4, randomblob(16), 'other', 'session start', '/', '{}', 'queued', '', 0, 'x');
  INSERT INTO campaign_runs (id, uid, campaign_id, position, name, priority, share, arguments, session_id, state, reason,
      evaluations, verified, in_flight, tokens, cost_usd, spent_ms)
    VALUES (1, randomblob(16), 3, 0, 'one', 0, 1, '[]', 7, 'finished', '', 1, 1, 0, 0, 0, 5),
           (2, randomblob(16), 3, 1, 'two', 0, 2, '[]', 9, 'running', '', 1, 1, 0, 10, 0.5, 6),
           (3, randomblob(16), 3, 2, 'three', 0, 1, '[]', NULL, 'queued', '', 0, 0, 0, 0, 0, 0);
  INSERT INTO journal VALUES (2, 'key', NULL);
)sql";

void make_database_before(const fs::path& file) {
  make_old_database(file, kBefore);
  Connection(file, OpenMode::create)
      .execute(std::string("PRAGMA foreign_keys = ON;") + kTwoSearches + kQueues);
}

std::string present_name_of(const std::string& table) {
  const std::map<std::string, std::string> renamed{{"sessions", "searches"},
                                                   {"campaigns", "sessions"},
                                                   {"campaign_runs", "session_searches"},
                                                   {"session_figures", "search_figures"}};
  const auto found = renamed.find(table);
  return found == renamed.end() ? table : found->second;
}

/// What later versions store in another form; it has tests of its own.
std::string columns_kept(const std::string& table) {
  if (table == "variants")
    return "id, hex(uid), definition_id, source_id, variant_hash, name, params, tunables";
  if (table == "searches")
    return "id, uid, definition_id, device_id, environment_id, arch, command, proposer, strategy, seed, "
           "budgets, status, reason, best_variant_id, started_at, ended_at, audited, resumed, workloads_hash";
  return table == "sources" ? "id, hex(uid), content_hash, text" : "*";
}

/// Table -> rows, by the names of now.
std::map<std::string, std::vector<std::string>> all_rows(const fs::path& file) {
  const bool before = version_of(file) == kBefore;
  std::map<std::string, std::vector<std::string>> tables;
  for (const std::string& line :
       rows_of(file,
               "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'insights_text_%' AND "
               "name <> 'checks'")) {
    const std::string table = line.substr(0, line.find(' '));
    tables[before ? present_name_of(table) : table] =
        rows_of(file, fmt::format("SELECT {} FROM {}", columns_kept(table), table));
  }
  return tables;
}

std::vector<std::string> columns_of(const fs::path& file, const std::string& name) {
  return rows_of(file, fmt::format("SELECT cid, name FROM pragma_table_info('{}')", name));
}

TEST_CASE("a database with searches and queues has every row under the new names, and none is changed") {
  const TemporaryFolder folder;
  make_database_before(folder.file());
  const auto before = all_rows(folder.file());
  REQUIRE(before.at("searches").size() == 2);
  REQUIRE(before.at("sessions").size() == 2);
  REQUIRE(before.at("session_searches").size() == 3);
  REQUIRE(before.at("search_figures").size() == 2);
  static_cast<void>(upgrade(folder.file()));
  CHECK(integer(folder.file(), "PRAGMA user_version") == schema_version());
  auto after = all_rows(folder.file());
  std::erase_if(after,
                [&](const auto& table) { return !before.contains(table.first); });  // of later versions
  CHECK((after == before));
  CHECK(verify(folder.file()).empty());
  CHECK(rows_of(folder.file(),
                "SELECT r.search_id FROM sessions q JOIN session_searches r ON r.session_id = q.id JOIN "
                "searches s ON s.id = r.search_id WHERE q.name = 'night'") ==
        std::vector<std::string>{"7 | ", "9 | "});
}

TEST_CASE("old names that nothing else has show the old columns") {
  const TemporaryFolder old, folder;
  make_database_before(old.file());
  fs::copy_file(old.file(), folder.file());
  static_cast<void>(upgrade(folder.file()));
  for (const char* name : {"campaigns", "campaign_runs", "session_figures"}) {
    INFO(name);
    const std::string sql = fmt::format("SELECT * FROM {}", name);
    CHECK(!rows_of(folder.file(), sql).empty());
    CHECK(rows_of(folder.file(), sql) == rows_of(old.file(), sql));
    CHECK(columns_of(folder.file(), name) == columns_of(old.file(), name));
  }
}

TEST_CASE("nothing of the schema but the documented names says session where it is a search") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  CHECK(
      rows_of(folder.file(),
              "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE c.name LIKE "
              "'%session%' AND "
              "s.name NOT IN ('campaign_runs', 'session_figures')") ==
      std::vector<std::string>{"session_rounds | session_search_id | ", "session_searches | session_id | "});
  CHECK(rows_of(folder.file(),
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE '%session%' AND name NOT "
                "LIKE 'sqlite_autoindex_session%'")
            .empty());
}

TEST_CASE("a database of every earlier version is brought up to date with its searches") {
  for (int version = 1; version <= kBefore; ++version) {
    if (version != kBefore && !testing::drawn_today(static_cast<std::size_t>(version), 5)) continue;
    INFO(version);
    const TemporaryFolder folder;
    make_old_database(folder.file(), version);
    Connection(folder.file(), OpenMode::create).execute(kTwoSearches);
    static_cast<void>(upgrade(folder.file()));
    CHECK(verify(folder.file()).empty());
    CHECK(rows_of(folder.file(), "SELECT id, reason FROM searches") ==
          std::vector<std::string>{"7 | a | ", "9 | b | "});
    CHECK(rows_of(folder.file(), "SELECT search, best_us FROM experiments") ==
          std::vector<std::string>{"7 | 2 | ", "9 | 1 | "});
    CHECK_NOTHROW(Run(*open_store(folder.file())).commit(128));
    CHECK(integer(folder.file(), "SELECT count(*) FROM search_figures") == 3);
  }
}

TEST_CASE("a search of an earlier version on a given shape is known by that shape") {
  const TemporaryFolder folder;
  make_old_database(folder.file(), 1);
  Connection(folder.file(), OpenMode::create).execute(std::string(kTwoSearches) + R"sql(
    INSERT INTO workloads VALUES (1, randomblob(16), 1, 'M=4,N=1', 'a', 'a', '{"M":4,"N":1}', 'gpu', 1, 1, 1, 1, 1, 1),
                                 (2, randomblob(16), 1, 'n1', 'b', 'b', '{"M":4,"N":1}', 'gpu', 1, 1, 1, 1, 1, 1);
    INSERT INTO measurements SELECT id, randomblob(16), id, id, 'candidate', '', 'events', 1, x'', 1, 0, 1000, 1000, 1000,
      NULL, NULL, NULL, '[]' FROM evaluations;)sql");
  static_cast<void>(upgrade(folder.file()));
  CHECK(rows_of(folder.file(), "SELECT search, shapes FROM search_shapes") ==
        std::vector<std::string>{"7 | M=4,N=1 | ", "9 | own | "});
}

TEST_CASE("an older file is merged into a newer one, and stays as it is") {
  const TemporaryFolder old, folder;
  make_database_before(old.file());
  Run(*open_store(folder.file())).commit(128);
  static_cast<void>(merge(folder.file(), old.file()));
  static_cast<void>(merge(folder.file(), old.file()));
  CHECK(verify(folder.file()).empty());
  CHECK(integer(folder.file(), "SELECT count(*) FROM searches") == 3);
  CHECK(rows_of(folder.file(),
                "SELECT q.name, r.name, s.reason FROM sessions q JOIN session_searches r ON r.session_id = "
                "q.id LEFT JOIN searches s ON s.id = r.search_id") ==
        std::vector<std::string>{"night | one | a | ", "night | three | NULL | ", "night | two | b | "});
  CHECK(version_of(old.file()) == kBefore);
}

TEST_CASE("SQL with the old names says what they are called now") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  for (const char* sql : {"SELECT session FROM leaderboard", "SELECT e.session_id FROM evaluations e"})
    CHECK_THROWS_WITH(integer(folder.file(), sql),
                      Catch::Contains("called a search since schema version 18"));
  CHECK_THROWS_WITH(integer(folder.file(), "SELECT nothing FROM leaderboard"),
                    !Catch::Contains("version 18"));
}

}  // namespace
}  // namespace ak::db::test
