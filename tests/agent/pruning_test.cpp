// SPDX-License-Identifier: Apache-2.0
#include "agent/pruning.h"

#include <catch2/catch.hpp>

#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using test::surface_ns;
using test::timed;
using test::World;

/// Predicts the surface times `bias`, with intervals of `spread` either way; nothing for points with X =
/// 9 where `blind`.
struct Oracle final : Predictor {
  double bias = 1, spread = 1.05;
  bool blind = false, reversed = false;
  std::optional<PredictedScore> predict(const ProblemInstance&, const Candidate& candidate) const override {
    if (blind && candidate.tunables.at("X") == 9) return std::nullopt;
    const double surface = surface_ns(candidate.tunables);
    const double time = bias * (reversed ? 1e7 / surface : surface);
    return PredictedScore{.model = "oracle",
                          .score = Nanoseconds(time),
                          .low = Nanoseconds(time / spread),
                          .high = Nanoseconds(time * spread),
                          .times = {}};
  }
};

World world_with(const Oracle& oracle) {
  World world([](const EvaluationRequest& request) { return timed(surface_ns(request.candidate.tunables)); });
  world.options.predictor = &oracle;
  return world;
}

int count(const World& world, Status status) {
  return static_cast<int>(std::ranges::count(world.store.rows, status, &test::VectorStore::Row::status));
}

TEST_CASE("good predictions find the best point at once and prune most of the others") {
  const Oracle oracle;
  World world = world_with(oracle);
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.progress.pruned > 40);
  CHECK(result.progress.pruned == count(world, Status::pruned));
  CHECK(result.progress.pruned + result.progress.evaluated == 100);
  CHECK(result.stop_reason == "space exhausted");
}

TEST_CASE("nothing is pruned before enough was measured in the run") {
  const Oracle oracle;
  World world = world_with(oracle);
  static_cast<void>(world.run());
  std::size_t measured = 0;
  for (const auto& row : world.store.rows) {
    if (row.status == Status::pruned) break;
    ++measured;
  }
  CHECK(measured >= Pruning::kMeasuredFirst);
}

TEST_CASE("a share of the hopeless is measured anyway") {
  const Oracle oracle;
  World world = world_with(oracle);
  static_cast<void>(world.run());
  // by then the best is known and all that is left is hopeless
  const auto& rows = world.store.rows;
  const auto honest =
      std::count_if(rows.end() - 40, rows.end(), [](const auto& row) { return row.status == Status::ok; });
  CHECK(honest >= 4);
  CHECK(honest <= 10);
}

TEST_CASE("a model that is wrong about a problem as a whole prunes as little as its ranks allow") {
  for (const double bias : {0.1, 10.0}) {
    CAPTURE(bias);
    Oracle oracle;
    oracle.bias = bias;
    World world = world_with(oracle);
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  }
}

TEST_CASE("a model whose ranks are worthless in this run prunes nothing that could be best") {
  Oracle oracle;
  oracle.reversed = true;
  World world = world_with(oracle);
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
}

TEST_CASE("what cannot be predicted is measured") {
  Oracle oracle;
  oracle.blind = true;
  World world = world_with(oracle);
  static_cast<void>(world.run());
  int blind = 0;
  for (const auto& request : world.device.requests) blind += request.candidate.tunables.at("X") == 9 ? 1 : 0;
  CHECK(blind == 10);
}

TEST_CASE("a wide interval prunes nothing") {
  Oracle oracle;
  oracle.spread = 1000;
  World world = world_with(oracle);
  CHECK(world.run().progress.pruned == 0);
}

TEST_CASE("without a predictor every point is measured in the strategy's order") {
  World world([](const EvaluationRequest& request) { return timed(surface_ns(request.candidate.tunables)); });
  const LoopResult result = world.run();
  CHECK(result.progress.pruned == 0);
  CHECK(result.progress.evaluated == 100);
}

}  // namespace
}  // namespace ak::agent
