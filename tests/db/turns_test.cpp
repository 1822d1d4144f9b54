// SPDX-License-Identifier: Apache-2.0
// Kernels in turns with baselines: what is kept of them, and what counts as a speed-up.
#include <catch2/catch.hpp>

#include "db/read/named_queries.h"
#include "db/store/turn_rows.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

BaselineTurns turns(const std::string& label, double ratio, TimeColumn column = TimeColumn::device) {
  BaselineTurns made;
  made.workload = "large";
  made.label = label;
  made.column = column;
  made.ratio = ratio;
  made.interval = {ratio * 0.99, ratio * 1.01};
  made.kernel_ns = 1'000'000;
  made.baseline_ns = ratio * made.kernel_ns;
  made.rounds = 48;
  made.kernel_peak_bytes = 12'000'000;
  made.settings = {{"torch", "2.11"}};
  return made;
}

/// A kernel at twice the naive baseline, in turns as given.
struct Turned {
  explicit Turned(const std::vector<BaselineTurns>& list) : store(open_store(folder.file())), run(*store) {
    const StoredEvaluation stored = run.commit(128);
    store->end_search(run.search, "finished", "", stored.variant);
    evaluation = stored.evaluation;
    store_turns(folder.file(), evaluation, list);
  }
  /// The speed-up that fast_p takes for the kernel.
  double speedup(const std::string& baseline, const std::string& times = "device") const {
    const auto queries = named_queries({});
    const NamedQuery& fast_p = *std::ranges::find(queries, "fast_p", &NamedQuery::name);
    const std::vector<std::string> given{"p=0", "baseline=" + baseline, "times=" + times};
    const Table table = query(folder.file(), fast_p.sql, 0, testing::kPatience, query_values(fast_p, given));
    const auto column = std::ranges::find(table.columns, "mean_speedup") - table.columns.begin();
    const Cell& cell = table.rows.at(0).at(static_cast<std::size_t>(column));
    return std::holds_alternative<double>(cell) ? std::get<double>(cell) : 0;
  }

  TemporaryFolder folder;
  std::unique_ptr<VariantStore> store;
  Run run;
  RowId evaluation = 0;
};

}  // namespace

TEST_CASE("turns are kept with the evaluation that they follow, and what was not measured is NULL") {
  const Turned kept({turns("pytorch compile", 1.5)});
  const auto file = kept.folder.file();
  CHECK(rows_of(file,
                "SELECT evaluation, workload, baseline, times, speedup, kernel_us, baseline_us, rounds, "
                "kernel_peak_bytes, settings ->> 'torch' FROM baseline_turns") ==
        std::vector<std::string>{
            "1 | large | pytorch compile | device | 1.5 | 1000 | 1500 | 48 | 12000000 | 2.11 | "});
  CHECK(is_null(file, "SELECT baseline_peak_bytes FROM turns"));
  CHECK(intact(file));
}

TEST_CASE("turns on a shape that the evaluation did not time are left out") {
  BaselineTurns other = turns("pytorch eager", 2);
  other.workload = "small";
  CHECK(integer(Turned({other}).folder.file(), "SELECT count(*) FROM turns") == 0);
}

TEST_CASE("of the same turns taken twice the later count") {
  const Turned kept({turns("pytorch eager", 3), turns("pytorch eager", 1.2)});
  CHECK(integer(kept.folder.file(), "SELECT count(*) FROM turns") == 2);
  CHECK(real(kept.folder.file(), "SELECT speedup FROM baseline_turns") == 1.2);
}

TEST_CASE("a speed-up over PyTorch is that of turns, over the strongest of its baselines, by device times") {
  const Turned kept({turns("pytorch eager", 3), turns("pytorch compile", 1.5),
                     turns("pytorch compile", 1.1, TimeColumn::wall), turns("itself", 1)});
  CHECK(real(kept.folder.file(),
             "SELECT speedup_vs_pytorch FROM benchmark_results WHERE workload = 'large'") == 1.5);
  CHECK(kept.speedup("pytorch*") == 1.5);
  CHECK(kept.speedup("pytorch eager") == 3);
  CHECK(kept.speedup("pytorch*", "wall") == 1.1);
  CHECK(kept.speedup("naive") == 2);
  CHECK(kept.speedup("naive", "wall") == 0);  // it was never timed so
}

TEST_CASE("without turns a speed-up over PyTorch is not known, and others are of times apart") {
  const Turned none({});
  CHECK(is_null(none.folder.file(),
                "SELECT speedup_vs_pytorch FROM benchmark_results WHERE workload = 'large'"));
  CHECK(none.speedup("pytorch*") == 0);
  CHECK(none.speedup("naive") == 2);
}

TEST_CASE("pairs with a library are no comparison of two variants") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  EvaluationRequest request = run.request(128);
  run.commit(request, Run::result(Status::ok, 1'000'000), "comparison");
  CHECK(integer(folder.file(), "SELECT count(*) FROM comparisons") == 1);
  request.library = "cublaslt";
  run.commit(request, Run::result(Status::ok, 1'000'000), "comparison");
  CHECK(integer(folder.file(), "SELECT count(*) FROM comparisons") == 1);
}

}  // namespace ak::db::test
