// SPDX-License-Identifier: Apache-2.0
// Kernel sets in the database: their members and rule, and what their searches count for.
#include <catch2/catch.hpp>

#include "db/merge/merge.h"
#include "db/merge/verify.h"
#include "db/sets/set_rows.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

/// Two members that were found on single shapes, and the set made of them.
struct StoredSet {
  StoredSet() : store(open_store(folder.file())), run(*store) {
    set = begin_set(folder.file(), *run.problem);
    first = run.commit(128).variant;
    second = run.commit(256).variant;
    third = run.commit(512).variant;
    record.variant = third;
    record.members = {{.variant = first, .condition = "N <= 64", .fallback = false},
                      {.variant = second, .condition = "every other shape", .fallback = true}};
    record.shapes = {{.workload = run.problem->workloads.front(),
                      .held_out = false,
                      .member = 2,
                      .member_ns = 105,
                      .best_ns = 100,
                      .best_variant = first}};
    record.mean_ratio = 1.01;
    record.worst_ratio = 1.05;
    record.prepared_copies = 1;
  }

  TemporaryFolder folder;
  std::unique_ptr<VariantStore> store;
  Run run;
  RowId set = 0, first = 0, second = 0, third = 0;
  SetRecord record;
};

}  // namespace

TEST_CASE(
    "a set is kept with its members, rule and times by shape, and without a regret that nobody measured") {
  StoredSet kept;
  store_set(kept.folder.file(), kept.set, *kept.run.problem, kept.record);
  const auto file = kept.folder.file();
  CHECK(rows_of(file, "SELECT number, member, condition, fallback FROM kernel_members WHERE variant = 3") ==
        std::vector<std::string>{"1 | 1 | N <= 64 | 0 | ", "2 | 2 | every other shape | 1 | "});
  CHECK(rows_of(file, "SELECT member, member_ns, best_ns, best_variant_id, held_out FROM set_shapes") ==
        std::vector<std::string>{"2 | 105 | 100 | 1 | 0 | "});
  CHECK(is_null(file, "SELECT regret FROM kernel_sets"));
  CHECK(intact(file));
}

TEST_CASE("a plain kernel is a set of one") {
  const StoredSet kept;
  CHECK(rows_of(kept.folder.file(),
                "SELECT number, member, condition, fallback FROM kernel_members WHERE variant = 2") ==
        std::vector<std::string>{"1 | 2 | every shape | 1 | "});
}

TEST_CASE("of a set that was learned twice the later counts, with its regret") {
  StoredSet kept;
  const auto file = kept.folder.file();
  store_set(file, kept.set, *kept.run.problem, kept.record);
  const RowId later = begin_set(file, *kept.run.problem);
  Connection(file, OpenMode::create).execute("UPDATE kernel_sets SET began_at = '2999-01-01' WHERE id = 2");
  kept.record.members.front().condition = "N <= 32";
  kept.record.regret =
      SetRegret{.mean_ratio = 1.02, .interval = {1.01, 1.04}, .worst_ratio = 1.2, .shapes = 16};
  store_set(file, later, *kept.run.problem, kept.record);
  CHECK(rows_of(file, "SELECT condition FROM kernel_members WHERE variant = 3 AND number = 1") ==
        std::vector<std::string>{"N <= 32 | "});
  CHECK(rows_of(file,
                "SELECT held_out_shapes, regret, regret_low, regret_high, worst_regret FROM kernel_sets "
                "WHERE id = 2") == std::vector<std::string>{"16 | 1.02 | 1.01 | 1.04 | 1.2 | "});
}

TEST_CASE("what was searched on one shape alone is no result of the definition; the set is") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  ProblemInstance given = vector_add();
  given.shapes_given = true;
  Run plain(*store, device(), given);
  const RowId set = begin_set(folder.file(), *plain.problem);
  for (const char* role : {"shape", "set"}) {
    SearchRecord record;
    record.budgets = Json::object();
    record.set = SetPart{.set = set, .role = role};
    plain.search = store->begin_search(record, *plain.problem, device(), Arch{9, 0, 'a'});
    const StoredEvaluation stored = plain.commit(128);
    store->end_search(plain.search, "finished", "", stored.variant);
  }
  CHECK(integer(folder.file(), "SELECT count(*) FROM scores") == 1);
  CHECK(rows_of(folder.file(), "SELECT search FROM best_kernels") == std::vector<std::string>{"3 | "});
  CHECK(rows_of(folder.file(), "SELECT search_id, role FROM set_searches ORDER BY search_id") ==
        std::vector<std::string>{"2 | shape | ", "3 | set | "});
  CHECK(rows_of(folder.file(), "SELECT search, shapes FROM search_shapes") ==
        std::vector<std::string>{"1 | large; small | ", "2 | part of a set | ", "3 | large; small | "});
  // Nor where its rows come with another file, whose evaluations are there before it is known what they are of.
  const auto all = folder.path() / "all.db";
  static_cast<void>(merge(all, folder.file()));
  CHECK(integer(all, "SELECT count(*) FROM scores") == 1);
  CHECK(verify(all).empty());
}

}  // namespace ak::db::test
