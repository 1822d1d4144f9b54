// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "agent/search/clocked_replay.h"
#include "agent/search/points.h"
#include "core/tuning/plan_space.h"

namespace ak::agent {
namespace {

/// 4 x 3 points; the time grows with x and y, the texts have an order, and (0, "b") fails. Each
/// took 0.9 s to build and 0.1 s to time, unless said otherwise.
MeasuredSpace formula_space(double compile_ms = 900, double benchmark_ms = 100) {
  MeasuredSpaceBuilder builder;
  for (std::int64_t x = 0; x < 4; ++x) {
    for (const std::string y : {"a", "b", "c"}) {
      MeasuredSpaceBuilder::Row row{.values = {{"x", x}, {"y", y}}};
      if (x == 0 && y == "b")
        row.result.failure = "runtime";
      else
        row.result.time_ns = 100.0 * static_cast<double>(4 - x) + (y[0] - 'a');
      row.result.compile_ms = compile_ms;
      row.result.benchmark_ms = benchmark_ms;
      builder.add(row);
    }
  }
  return builder.finish({{"x", {}}, {"y", {}}}).value();
}

TEST_CASE(
    "a replay counts failures, gives the share of the optimum so far and keeps it when the space ends") {
  const ReplaySpace space(formula_space());
  CHECK(space.best_ns() == 100);
  CHECK(space.search_space()->size() == 12);
  const std::vector<TuningValue> numbers{std::int64_t{0}, std::int64_t{1}, std::int64_t{2}};
  CHECK(space.search_space()->parameters()[1].values == numbers);
  const Replay run = replay(space, *find_strategy("exhaustive"), 1, {.budget = 20});
  REQUIRE(run.fractions.size() == 20);
  CHECK(run.fractions[0] == Approx(100.0 / 400));
  CHECK(run.fractions[1] == Approx(100.0 / 400));  // failed: counted, nothing gained
  CHECK(run.fractions[3] == Approx(100.0 / 300));
  CHECK(run.fractions[9] == 1);
  CHECK(run.fractions[19] == 1);
  CHECK(run.reached == 10);
  CHECK(run.proposal_ns.size() == 12);
}

TEST_CASE("several devices answer in the order of the proposals, and no more points are evaluated") {
  const ReplaySpace space(formula_space());
  const Strategy& exhaustive = *find_strategy("exhaustive");
  const Replay run = replay(space, exhaustive, 1, {.budget = 20, .devices = 5});
  CHECK(run.fractions == replay(space, exhaustive, 1, {.budget = 20}).fractions);
  CHECK(run.proposal_ns.size() == 12);
  const Strategy& local = *find_strategy("local-search");
  CHECK(replay(space, local, 2, {.budget = 9, .devices = 9}).fractions.size() == 9);
}

TEST_CASE("by the clock, builds overlap one another and the GPU, and no more are in flight than fit") {
  const ReplaySpace space(formula_space());
  const Strategy& exhaustive = *find_strategy("exhaustive");  // its tenth point is the best
  CHECK(replay(space, exhaustive, 1, {.budget = 20}).spent_s == Approx(10));
  const auto seconds = [&](std::size_t workers, std::size_t budget) {
    const ClockTime clock = clocked_replay(space, exhaustive, 1, budget, 0.95, workers);
    CHECK(clock.reached == (budget >= 10));
    return clock.spent_s;
  };
  CHECK(seconds(1, 20) == Approx(9.1));    // ten builds without a pause, and one measurement after them
  CHECK(seconds(4, 20) == Approx(2.9));    // a fifth build waits for a worker, the next four for answers
  CHECK(seconds(100, 20) == Approx(1.9));  // all builds at once, then ten measurements
  CHECK(seconds(1, 4) == Approx(3.7));     // the target was not reached
}

/// Proposes in order and counts how many of its points are in flight after the first answer.
class Counting final : public SearchStrategy {
 public:
  explicit Counting(std::shared_ptr<const TunableSpace> space) : points_(std::move(space)) { most = 0; }
  std::optional<TunableValues> ask() override {
    if (asked_ == points_.size()) return std::nullopt;
    if (told_ > 0) most = std::max(most, asked_ + 1 - told_);
    return points_.tunable_values(asked_++);
  }
  void tell(const TunableValues&, std::optional<double>) override { ++told_; }
  static inline std::size_t most = 0;

 private:
  Points points_;
  std::size_t asked_ = 0, told_ = 0;
};

TEST_CASE("by the clock, no more is in flight than keeps the GPU busy") {
  const Strategy counting{
      .name = "counting",
      .summary = "",
      .make = [](std::shared_ptr<const TunableSpace> space, std::uint64_t, const EarlierSearches&) {
        return std::unique_ptr<SearchStrategy>(std::make_unique<Counting>(std::move(space)));
      }};
  const auto on_their_way = [&](double compile_ms, double benchmark_ms) {
    (void)clocked_replay(ReplaySpace(formula_space(compile_ms, benchmark_ms)), counting, 1, 12, 1, 5);
    return Counting::most;
  };
  CHECK(on_their_way(900, 100) == 6);  // the GPU waits for builds: as many as there is room for
  CHECK(on_their_way(100, 900) == 2);  // one that is timed next, and one that is built meanwhile
}

TEST_CASE("a replay follows from its seed and stops at its budget") {
  const ReplaySpace space(formula_space());
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    const Replay run = replay(space, *entry, 7, {.budget = 6});
    CHECK(run.fractions.size() == 6);
    CHECK(run.proposal_ns.size() <= 6);
    CHECK(run.fractions == replay(space, *entry, 7, {.budget = 6}).fractions);
  }
}

/// Proposes the same point for ever.
class Stubborn final : public SearchStrategy {
 public:
  explicit Stubborn(const TunableSpace& space) : point_(tunables_of(space, space.point(0))) {}
  std::optional<TunableValues> ask() override { return point_; }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  TunableValues point_;
};

TEST_CASE("a point proposed again costs no evaluation, and a strategy with nothing new is ended") {
  const Strategy stubborn{"stubborn", "",
                          [](std::shared_ptr<const TunableSpace> space, std::uint64_t,
                             const EarlierSearches&) -> std::unique_ptr<SearchStrategy> {
                            return std::make_unique<Stubborn>(*space);
                          }};
  const Replay run = replay(ReplaySpace(formula_space()), stubborn, 1, {.budget = 5});
  CHECK(run.fractions == std::vector<double>(5, 0.25));
  CHECK_FALSE(run.reached);
}

}  // namespace
}  // namespace ak::agent
