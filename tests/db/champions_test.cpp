// SPDX-License-Identifier: Apache-2.0
// One meaning of "best" and of "evaluations", whoever asks.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "db/read/named_queries.h"
#include "db/read/search_stats.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

using Lines = std::vector<std::string>;

Lines answer(const std::filesystem::path& file, const std::string& name) {
  for (const NamedQuery& named : named_queries({}))
    if (named.name == name) return rows_of(file, named.sql, query_values(named, {}));
  return {"there is no such query"};
}

/// What a query says of one search alone.
Lines latest_search(const std::filesystem::path& file, const std::string& name) {
  const std::vector<std::string> one{"limit=1"};
  for (const NamedQuery& named : named_queries({}))
    if (named.name == name)
      return rows_of(file, "SELECT search FROM (" + named.sql + ")", query_values(named, one));
  return {"there is no such query"};
}

/// A search whose second variant had luck once; the first was chosen, and measured again at the end.
RowId search_with_luck(const std::filesystem::path& file, const DeviceFacts& on = device()) {
  const auto store = open_store(file);
  Run run(*store, on);
  const RowId chosen = run.commit(128, Status::ok, 1'939'000).variant;
  run.commit(256, Status::ok, 1'900'000);
  run.commit(512, Status::compile_error);
  const auto later = [&](Status status, double ns, const char* arm) {
    run.commit(run.request(128), Run::result(status, ns), arm);
  };
  later(Status::ok, 1'000'000, "held_out");
  later(Status::ok, 1'000'000, "comparison");
  later(Status::ok, 1'941'000, "final");
  later(Status::ok, 1'000'000, "profile");
  store->end_search(run.search, "finished", "evaluation budget", chosen);
  return run.search;
}

TEST_CASE("the best of a search is its champion as confirmed, never a lucky time") {
  const TemporaryFolder folder;
  const RowId search = search_with_luck(folder.file());
  CHECK(rows_of(folder.file(), "SELECT variant, score_ns, confirmed FROM champions") ==
        Lines{"1 | 1941000 | 1 | "});
  CHECK(rows_of(folder.file(), "SELECT best_us, evaluations, verified FROM experiments") ==
        Lines{"1941 | 3 | 2 | "});
  CHECK(rows_of(folder.file(), "SELECT variant, score_us FROM best_variants") == Lines{"1 | 1941 | "});
  CHECK(rows_of(folder.file(), "SELECT variant, score_us, confirmed FROM best_kernels") ==
        Lines{"1 | 1941 | 1 | "});
  CHECK(rows_of(folder.file(), "SELECT variant, score_us FROM leaderboard WHERE place = 1") ==
        Lines{"1 | 1941 | "});
  const auto stats = search_stats(folder.file(), search);
  REQUIRE(stats);
  CHECK(stats->best_ns == 1'941'000);
  CHECK(stats->evaluations() == 3);
  CHECK(stats->verified == 2);
}

TEST_CASE("what was pruned was not evaluated, and a duplicate of what passed is verified") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128);
  run.commit(256, Status::duplicate);
  run.commit(512, Status::pruned);
  CHECK(rows_of(folder.file(), "SELECT evaluations, verified FROM experiments") == Lines{"2 | 2 | "});
  CHECK(search_stats(folder.file(), run.search)->evaluations() == 2);
}

TEST_CASE("of a search that has named no champion the best that was not found wrong counts") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  CHECK(rows_of(folder.file(), "SELECT * FROM champions").empty());
  run.commit(128, Status::ok, 5'000);
  run.commit(256, Status::ok, 7'000);
  const std::string best = "SELECT variant, score_ns, confirmed FROM champions";
  CHECK(rows_of(folder.file(), best) == Lines{"1 | 5000 | 0 | "});
  run.commit(run.request(128), Run::result(Status::incorrect, 0), "held_out");
  CHECK(rows_of(folder.file(), best) == Lines{"2 | 7000 | 0 | "});
}

TEST_CASE("two units of one product have one first place between them") {
  const TemporaryFolder folder;
  DeviceFacts other = device();
  other.uuid = "GPU-2";
  search_with_luck(folder.file());
  search_with_luck(folder.file(), other);
  const auto store = open_store(folder.file());
  Run third(*store, other);
  store->end_search(third.search, "finished", "", third.commit(1024, Status::ok, 1'800'000).variant);
  REQUIRE(rows_of(folder.file(), "SELECT id FROM devices").size() == 2);
  CHECK(rows_of(folder.file(), "SELECT variant, search FROM leaderboard WHERE place = 1") ==
        Lines{"4 | 3 | "});
  CHECK(rows_of(folder.file(), "SELECT variant, search FROM best_kernels") == Lines{"4 | 3 | "});
  const Lines board = answer(folder.file(), "leaderboard");
  CHECK(board.size() == 3);
}

/// A search that ends with a kernel of this time.
RowId search_with(VariantStore& store, ProblemInstance problem, int block, double ns) {
  Run run(store, device(), std::move(problem));
  store.end_search(run.search, "finished", "", run.commit(block, Status::ok, ns).variant);
  return run.search;
}

TEST_CASE("scores of other shapes have places of their own, and the problem's own shapes come first") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  ProblemInstance tiny = vector_add();
  tiny.shapes_given = true;
  tiny.workloads[1].axes["N"] = 1;
  ProblemInstance edited = vector_add();
  edited.workloads[1].weight = 2;
  search_with(*store, vector_add(), 128, 5'000'000);
  search_with(*store, tiny, 256, 1'000);
  search_with(*store, tiny, 512, 2'000);
  const Lines first{"1 | 1 | own | ", "2 | 2 | large; small | "};
  CHECK(rows_of(folder.file(), "SELECT search, variant, shapes FROM leaderboard WHERE place = 1") == first);
  CHECK(rows_of(folder.file(), "SELECT search, variant, shapes FROM best_kernels") == first);
  CHECK(rows_of(folder.file(), "SELECT search, shapes FROM leaderboard WHERE place = 2") ==
        Lines{"3 | large; small | "});
  CHECK(rows_of(folder.file(), "SELECT search FROM (SELECT search FROM best_kernels LIMIT 1)") ==
        Lines{"1 | "});
  CHECK(answer(folder.file(), "leaderboard").size() == 3);
  // Those of a problem whose shapes were edited are its own as soon as one of its searches has a score.
  Run latest(*store, device(), edited);
  CHECK(rows_of(folder.file(), "SELECT search, variant, shapes FROM best_kernels") == first);
  store->end_search(latest.search, "finished", "", latest.commit(1024, Status::ok, 9'000'000).variant);
  CHECK(rows_of(folder.file(), "SELECT search, shapes FROM best_kernels") ==
        Lines{"1 | own, earlier | ", "2 | large; small | ", "4 | own | "});
  CHECK(rows_of(folder.file(), "SELECT DISTINCT shapes_number, shapes FROM search_shapes") ==
        Lines{"1 | own | ", "2 | own, earlier | ", "3 | large; small | "});
}

TEST_CASE("what came of a search that moved to another GPU is what the first measured until the second has") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  DeviceFacts second = device(), other = device();
  second.uuid = "GPU-2";
  other.name = "Other GPU";
  const Run unlike(*store, other), alike(*store, second);
  const auto champions = [&] { return rows_of(folder.file(), "SELECT variant, score_ns FROM champions"); };
  const auto front = [&] { return rows_of(folder.file(), "SELECT variant, score_us FROM pareto_front"); };
  const auto move_to = [&](RowId search, RowId like) {
    execute(folder.file(),
            fmt::format("UPDATE searches SET device_id = (SELECT device_id FROM searches WHERE id "
                        "= {}) WHERE id = {}",
                        like, search));
  };
  Run run(*store);
  const RowId chosen = run.commit(128, Status::ok, 1'000'000).variant;
  run.commit(256, Status::ok, 2'000'000);
  move_to(run.search, alike.search);
  CHECK(champions() == Lines{"1 | 1000000 | "});
  CHECK(front() == Lines{"1 | 1000 | "});
  const EvaluationRequest request = run.request(128);
  const EvaluationResult result = Run::result(Status::ok, 1'100'000);
  store->commit({.search = run.search,
                 .iteration = 9,
                 .proposer = "search",
                 .arm = "final",
                 .parents = {},
                 .request = &request,
                 .result = &result,
                 .device = &second});
  CHECK(champions() == Lines{"1 | 1100000 | "});
  store->end_search(run.search, "interrupted", "", chosen);
  CHECK(champions() == Lines{"1 | 1100000 | "});

  move_to(run.search, unlike.search);
  CHECK(champions().empty());
  CHECK(front().empty());
}

TEST_CASE("each set of shapes has a front of its own, and the share that this dominates") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  ProblemInstance tiny = vector_add();
  tiny.shapes_given = true;
  Run own(*store), given(*store, device(), tiny);
  const auto commit = [](Run& run, int block, double ns, std::int64_t shared_bytes) {
    EvaluationResult result = Run::result(Status::ok, ns);
    result.shared_bytes = shared_bytes;
    run.commit(run.request(block), result);
  };
  commit(own, 1, 100'000, 4096);
  commit(own, 2, 150'000, 1024);
  commit(own, 3, 200'000, 512);
  commit(given, 1, 1'000, 64);
  CHECK(rows_of(folder.file(), "SELECT shapes, variant FROM pareto_front") ==
        Lines{"large; small | 1 | ", "own | 1 | ", "own | 2 | ", "own | 3 | "});
  CHECK(rows_of(folder.file(),
                "SELECT shapes, points, hypervolume FROM hypervolume WHERE objective = 'shared_bytes'") ==
        Lines{"large; small | 1 | 0 | ", "own | 3 | 0.1875 | "});
}

TEST_CASE("kernels of a degenerate problem are stored, not ranked, and in no mean") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  ProblemInstance degenerate = *run.problem;
  degenerate.definition.name = "always_one";
  degenerate.definition.tags = {"degenerate"};
  Run other(*store, device(), std::move(degenerate));
  for (Run* one : {&run, &other})
    store->end_search(one->search, "finished", "", one->commit(128, Status::ok, 1'000'000).variant);
  const Lines ranked{"vector_add_float32 | "};
  CHECK(rows_of(folder.file(), "SELECT definition FROM leaderboard") == ranked);
  CHECK(rows_of(folder.file(), "SELECT definition FROM best_kernels") == ranked);
  CHECK(answer(folder.file(), "leaderboard").size() == 1);
  CHECK(rows_of(folder.file(), "SELECT count(*) FROM champions") == Lines{"2 | "});
  const auto fast = [&](const std::string& definition) {
    const std::vector<std::string> one{"definition=" + definition};
    for (const NamedQuery& named : named_queries({}))
      if (named.name == "fast_p") return rows_of(folder.file(), named.sql, query_values(named, one)).size();
    return std::size_t{0};
  };
  CHECK(fast("vector_add_float32") > 0);
  CHECK(fast("always_one") == 0);
}

TEST_CASE("the latest search is the one that began last, whatever its number") {
  const TemporaryFolder folder;
  search_with_luck(folder.file());
  search_with_luck(folder.file());
  Connection(folder.file(), OpenMode::create)
      .execute("UPDATE searches SET started_at = '2020-01-01T00:00:00.000Z' WHERE id = 2");
  CHECK(rows_of(folder.file(), "SELECT search FROM experiments LIMIT 1") == Lines{"2 | "});
  CHECK(latest_search(folder.file(), "searches") == Lines{"1 | "});
  CHECK(latest_search(folder.file(), "rate") == Lines{"1 | "});
}

}  // namespace
}  // namespace ak::db::test
