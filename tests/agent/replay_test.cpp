// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "agent/search/replay.h"

namespace ak::agent {
namespace {

/// 4 x 3 points; the time grows with x and y, the texts have an order, and (0, "b") fails.
MeasuredSpace formula_space() {
  SpaceGatherer gatherer;
  for (std::int64_t x = 0; x < 4; ++x) {
    for (const std::string y : {"a", "b", "c"}) {
      SpaceGatherer::Row row{.values = {{"x", x}, {"y", y}}};
      if (x == 0 && y == "b")
        row.result.failure = "runtime";
      else
        row.result.time_ns = 100.0 * static_cast<double>(4 - x) + (y[0] - 'a');
      gatherer.add(row);
    }
  }
  return gatherer.finish({{"x", {}}, {"y", {}}}).value();
}

TEST_CASE(
    "a replay counts failures, gives the share of the optimum so far and keeps it when the space ends") {
  const ReplaySpace space(formula_space());
  CHECK(space.best_ns() == 100);
  CHECK(space.search_space().points.size() == 12);
  CHECK(space.search_space().tunables[1].values == std::vector<std::int64_t>{0, 1, 2});
  const Replay run = replay(space, *find_strategy("exhaustive"), 1, 20, 0.95);
  REQUIRE(run.fractions.size() == 20);
  CHECK(run.fractions[0] == Approx(100.0 / 400));
  CHECK(run.fractions[1] == Approx(100.0 / 400));  // failed: counted, nothing gained
  CHECK(run.fractions[3] == Approx(100.0 / 300));
  CHECK(run.fractions[9] == 1);
  CHECK(run.fractions[19] == 1);
  CHECK(run.reached == 10);
  CHECK(run.proposal_ns.size() == 12);
}

TEST_CASE("a replay follows from its seed and stops at its budget") {
  const ReplaySpace space(formula_space());
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    const Replay run = replay(space, entry, 7, 6, 0.95);
    CHECK(run.fractions.size() == 6);
    CHECK(run.proposal_ns.size() <= 6);
    CHECK(run.fractions == replay(space, entry, 7, 6, 0.95).fractions);
  }
}

/// Proposes the same point for ever.
class Stubborn final : public SearchStrategy {
 public:
  explicit Stubborn(SearchSpace space) : point_(space.points.front()) {}
  std::optional<TunableValues> ask() override { return point_; }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  TunableValues point_;
};

TEST_CASE("a point proposed again costs no evaluation, and a strategy with nothing new is ended") {
  const StrategyEntry stubborn{"stubborn", "",
                               [](SearchSpace space, std::uint64_t) -> std::unique_ptr<SearchStrategy> {
                                 return std::make_unique<Stubborn>(std::move(space));
                               }};
  const Replay run = replay(ReplaySpace(formula_space()), stubborn, 1, 5, 0.95);
  CHECK(run.fractions == std::vector<double>(5, 0.25));
  CHECK_FALSE(run.reached);
}

}  // namespace
}  // namespace ak::agent
