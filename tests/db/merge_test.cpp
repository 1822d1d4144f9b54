// SPDX-License-Identifier: Apache-2.0
#include "db/merge/merge.h"
#include "db/merge/database_export.h"
#include "db/merge/snapshot.h"
#include "db/merge/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <numeric>

#include "core/error.h"
#include "db/sqlite.h"
#include "db/store/session_store.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"
#include "tests/db/synthetic_database.h"
#include "tests/support/daily_sample.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

std::int64_t count(const std::filesystem::path& file, const std::string& what) {
  const Table table = query(file, "SELECT count(*) FROM " + what, 0, testing::kPatience);
  return std::get<std::int64_t>(table.rows[0][0]);
}

std::int64_t added(const std::vector<MergedTable>& tables) {
  return std::accumulate(tables.begin(), tables.end(), std::int64_t{0},
                         [](std::int64_t sum, const MergedTable& table) { return sum + table.rows; });
}

/// A search with two variants; the second differs between the two files.
void fill(const std::filesystem::path& file, int block) {
  const auto store = open_store(file);
  Run run(*store);
  run.commit(128);
  const RowId variant = run.commit(block).variant;
  store->end_search(1, "finished", "space exhausted", variant);
}

TEST_CASE("merging brings everything once, however often it is done") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", b = folder.path() / "b.db", all = folder.path() / "all.db";
  fill(a, 256);
  fill(b, 512);
  CHECK(added(merge(all, a)) > 10);
  CHECK(added(merge(all, b)) > 5);
  CHECK(added(merge(all, a)) == 0);
  CHECK(added(merge(all, b)) == 0);
  CHECK(count(all, "searches") == 2);
  CHECK(count(all, "evaluations") == 4);
  CHECK(count(all, "variants") == 3);  // BLOCK = 128 is the same in both
  CHECK(count(all, "definitions") == 1);
  CHECK(count(all, "devices") == 1);
  for (const char* table : {"measurements", "checks", "build_kernels", "proposals"})
    CHECK(count(all, table) ==
          count(a, table) + count(b, table) - (table == std::string("build_kernels") ? 1 : 0));
  // References point at the same things as before.
  CHECK(count(all, "leaderboard") == count(a, "leaderboard") + count(b, "leaderboard"));
  CHECK(count(all, "searches s JOIN variants v ON v.id = s.best_variant_id WHERE v.tunables LIKE '%512%'") ==
        1);
  CHECK(verify(all).empty());
  CHECK(count(folder.path() / "a.db", "searches") == 1);  // the others are as they were
}

TEST_CASE("a copy that a killed merge left is removed by the next, and one in use is not") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", all = folder.path() / "all.db";
  fill(a, 256);
  const std::string left = all.string() + ".copy-0123456789abcdef";
  for (const char* end : {"", "-journal"}) std::ofstream(left + end) << "half";
  const Snapshot in_use(a, all);
  static_cast<void>(merge(all, a));
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK_FALSE(std::filesystem::exists(left + "-journal"));
  CHECK(count(in_use.file(), "searches") == 1);
}

TEST_CASE("what was running at the first merge is brought up to date by the second") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", all = folder.path() / "all.db";
  const auto store = open_store(a);
  Run run(*store);
  run.commit(128);
  static_cast<void>(merge(all, a));
  CHECK(count(all, "searches WHERE status = 'running'") == 1);
  const RowId variant = run.commit(256).variant;
  store->end_search(1, "finished", "space exhausted", variant);
  CHECK(added(merge(all, a)) > 0);
  CHECK(
      count(all,
            "searches WHERE status = 'finished' AND ended_at IS NOT NULL AND best_variant_id IS NOT NULL") ==
      1);
  CHECK(count(all, "evaluations") == 2);
}

TEST_CASE("a session that was stopped at the first merge and went on is brought up to date by the second") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", all = folder.path() / "all.db";
  SessionStore sessions(a);
  Session queue;
  queue.name = "night";
  queue.budgets = Json::object();
  queue.runs.emplace_back();
  queue.runs.front().name = "one";
  const RowId id = sessions.create(queue);
  const auto end = [&](const char* state, int code) {
    sessions.begin(id);
    SessionSearch run = sessions.read(id).runs.front();
    run.state = state;
    run.exit_code = code;
    sessions.end_run(run, true);
    sessions.end(id, state, "", code);
    static_cast<void>(merge(all, a));
    CHECK(count(all, fmt::format("sessions WHERE status = '{}' AND exit_code = {}", state, code)) == 1);
    CHECK(count(all, fmt::format("session_searches WHERE state = '{}' AND exit_code = {}", state, code)) ==
          1);
  };
  end("stopped", 130);
  end("finished", 0);
  CHECK(count(all, "sessions") == 1);
}

TEST_CASE("an export has the searches since a time, what they refer to, and nothing else") {
  const TemporaryFolder folder;
  const auto from = folder.path() / "a.db", to = folder.path() / "new.db";
  fill(from, 256);
  execute(from, "UPDATE searches SET started_at = '2020-01-01T00:00:00.000Z'");
  Run(*open_store(from)).commit(1024);
  CHECK(export_since(from, to, "2021-01-01") == 1);
  CHECK(count(to, "searches") == 1);
  CHECK(count(to, "variants") == 1);
  CHECK(count(to, "sources") == 1);
  CHECK(count(to, "evaluations") == 1);
  CHECK(verify(to).empty());
  CHECK(export_since(from, folder.path() / "none.db", "2999") == 0);
  CHECK(count(folder.path() / "none.db", "variants") == 0);
  CHECK_THROWS_AS(export_since(from, to, ""), Error);
}

/// What a number of a column stands for in any file; columns of other names are as they are.
const std::map<std::string, std::string>& identities() {
  static const std::map<std::string, std::string> known{
      {"search", "(SELECT hex(i.uid) FROM searches i WHERE i.id = x.{})"},
      {"variant", "(SELECT i.variant_hash FROM variants i WHERE i.id = x.{})"},
      {"evaluation", "(SELECT hex(i.uid) FROM evaluations i WHERE i.id = x.{})"},
      {"workload", "(SELECT i.content_hash FROM workloads i WHERE i.id = x.{})"},
      {"device", "(SELECT i.name || i.uuid FROM devices i WHERE i.id = x.{})"},
      {"definition", "(SELECT i.content_hash FROM definitions i WHERE i.id = x.{})"}};
  return known;
}

/// What the number in a column of a view refers to; empty: nothing, or it is no number.
std::string referred(const std::string& column) {
  if (column == "challenger" || column == "champion" || column == "member") return "variant";
  for (const char* name : {"search", "variant", "evaluation"})
    if (column == name) return column;
  const std::string stem = column.substr(0, column.rfind("_id"));
  return column.ends_with("_id") && identities().contains(stem) ? stem : "";
}

/// The rows of a view with what its numbers stand for.
std::vector<std::string> rows_by_identity(const std::filesystem::path& file, const std::string& view) {
  std::string columns;
  for (const std::string& line : rows_of(file, "SELECT name FROM pragma_table_info('" + view + "')")) {
    const std::string column = line.substr(0, line.find(' ')), to = referred(column);
    columns += (columns.empty() ? "" : ", ") +
               (to.empty() ? "x." + column : fmt::format(fmt::runtime(identities().at(to)), column));
  }
  return rows_of(file, "SELECT " + columns + " FROM " + view + " x");
}

constexpr const char* kInsights = R"sql(
  SELECT i.kind, i.text, i.tries,
         (SELECT group_concat(v.variant_hash) FROM json_each(i.evidence, '$.variants') g, json_each(g.value) n
          JOIN variants v ON v.id = n.value),
         iif(i.kind = 'attempt', (SELECT variant_hash FROM variants WHERE 'variant ' || id = i.subject), i.subject)
  FROM insights i)sql";

/// Two pairs of variants, and an attempt, whose numbers mean others in another file.
void add_insights(const std::filesystem::path& file, const std::string& text, const std::string& learned_at) {
  const auto add = [&](const char* kind, const char* subject, const char* evidence) {
    execute(
        file,
        fmt::format("INSERT INTO insights (uid, kind, text, evidence, created_at, algorithm, arch, device, "
                    "device_kind, subject, tries) VALUES (randomblob(16), '{}', '{}', '{}', '{}', 'softmax', "
                    "'sm_90a', 'NVIDIA H200', 'cuda', '{}', 2)",
                    kind, text, evidence, learned_at, subject));
  };
  add("tunable", "BLOCK", R"({"variants": [[1, 2], [150, 7]], "value": 128})");
  add("bottleneck", "softmax_bf16", R"({"variants": [[31]]})");
  add("attempt", "variant 5", R"({"variants": [[5, 4]], "model": "m"})");
}

TEST_CASE("two databases merged in either order have the same views and insights") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    if (!testing::drawn_today(seed, 3)) continue;
    INFO(seed);
    const TemporaryFolder folder;
    const auto a = folder.path() / "a.db", b = folder.path() / "b.db", ab = folder.path() / "ab.db",
               ba = folder.path() / "ba.db";
    make_synthetic_database(a, {.variants = 200, .seed = seed});
    make_synthetic_database(b, {.variants = 200, .seed = seed + 100});
    add_insights(a, "of a", "2026-01-02");
    add_insights(b, "of b", "2026-01-01");
    for (const auto& file : {a, b}) static_cast<void>(merge(ab, file));
    for (const auto& file : {b, a}) static_cast<void>(merge(ba, file));
    CHECK((rows_of(ab, kInsights) == rows_of(ba, kInsights)));
    for (const std::string& line :
         rows_of(ab,
                 "SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT IN "
                 "('campaigns', 'campaign_runs', 'session_figures')")) {
      const std::string view = line.substr(0, line.find(' '));
      INFO(view);
      CHECK((rows_by_identity(ab, view) == rows_by_identity(ba, view)));
    }
    for (const auto& file : {a, b, ba}) CHECK(added(merge(ab, file)) == 0);
  }
}

TEST_CASE("the evidence of an insight names the same kernels after a merge") {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a.db", b = folder.path() / "b.db", all = folder.path() / "all.db";
  make_synthetic_database(a, {.variants = 200, .seed = 1});
  make_synthetic_database(b, {.variants = 200, .seed = 2});
  add_insights(b, "of b", "2026-01-01");
  for (const auto& file : {a, b}) static_cast<void>(merge(all, file));
  const std::string mine = std::string(kInsights) + " WHERE i.text = 'of b'";
  CHECK((rows_of(all, mine) == rows_of(b, mine)));
  CHECK((rows_by_identity(b, "comparisons").size() > 0));
  for (const std::string& row : rows_by_identity(b, "comparisons")) {
    const auto rows = rows_by_identity(all, "comparisons");
    CHECK((std::ranges::find(rows, row) != rows.end()));
  }
}

TEST_CASE("damage is named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.db";
  fill(file, 256);
  CHECK(verify(file).empty());
  execute(file, "UPDATE sources SET text = text || ' '");
  execute(file, "PRAGMA foreign_keys = OFF; DELETE FROM definitions");
  const auto wrong = verify(file);
  const auto says = [&](const std::string& words) {
    return std::ranges::any_of(
        wrong, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  CHECK(says("source 1 is not the text of its hash"));
  CHECK(says("refers to a row of definitions"));
  CHECK_THROWS_AS(merge(file, file), Error);
  CHECK_THROWS_AS(merge(folder.path() / "x.db", folder.path() / "absent.db"), Error);
}

}  // namespace
}  // namespace ak::db::test
