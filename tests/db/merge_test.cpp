// SPDX-License-Identifier: Apache-2.0
#include "db/merge/merge.h"
#include "db/merge/database_export.h"
#include "db/merge/verify.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.h"
#include "db/sqlite.h"
#include "tests/db/store_fixture.h"
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

void execute(const std::filesystem::path& file, const std::string& sql) {
  Connection(file, OpenMode::create).execute(sql);
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
