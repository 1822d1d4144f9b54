// SPDX-License-Identifier: Apache-2.0
#include "agent/search_progress.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/agent/search_parts.h"

namespace ak::agent {
namespace {

using namespace std::chrono_literals;
using test::failed;
using test::same_result;
using test::SearchParts;
using test::timed;
using test::World;

TEST_CASE("a budget that is used up stops a search with its reason") {
  World world(same_result);
  world.options.budgets.max_evaluations = 2;
  SearchParts parts(world);
  CHECK_FALSE(parts.progress.should_stop({}));
  parts.progress.count(timed(1'000));
  CHECK_FALSE(parts.progress.should_stop(1'000));
  parts.progress.count(timed(1'000));
  CHECK(parts.progress.should_stop(1'000));
  CHECK(parts.result.stop_reason == "evaluation budget");
  CHECK_FALSE(parts.result.interrupted);
}

TEST_CASE("evaluations without a gain are counted from the last one that took the lead") {
  World world(same_result);
  world.options.budgets.patience = 2;
  SearchParts parts(world);
  for (const bool gain : {false, true, false}) parts.progress.count_gain(gain);
  CHECK_FALSE(parts.progress.should_stop(1'000));
  parts.progress.count_gain(false);
  CHECK(parts.progress.should_stop(1'000));
}

TEST_CASE("a request to stop goes before any budget and is not forgotten") {
  World world(same_result);
  std::atomic<bool> stop = true;
  world.options.stop_requested = &stop;
  world.options.budgets.max_evaluations = 0;
  SearchParts parts(world);
  CHECK(parts.progress.should_stop({}));
  CHECK(parts.result.stop_reason == "interrupted");
  stop = false;
  CHECK(parts.progress.note_interrupt());
}

TEST_CASE("wall time runs from the beginning in an earlier process, but not while that is replayed") {
  World world(same_result);
  bool replaying = true;
  world.options.spent_before = 9s;
  world.options.budgets.max_wall = 10s;
  world.options.replaying = [&] { return replaying; };
  SearchParts parts(world);
  CHECK(parts.progress.wait_deadline() == world.clock.now() + 100ms);
  world.clock.advance_to(world.clock.now() + 990ms);
  CHECK(parts.progress.wait_deadline() == world.clock.now() + 10ms);
  world.clock.advance_to(world.clock.now() + 10ms);
  CHECK_FALSE(parts.progress.should_stop({}));
  replaying = false;
  CHECK(parts.progress.should_stop({}));
  CHECK(parts.result.stop_reason == "wall time budget");
}

TEST_CASE("wall time stops no search before its first answer, and none that awaits nothing") {
  World world(same_result);
  world.options.budgets.max_wall = 1s;
  SearchParts parts(world);
  world.clock.advance_to(world.clock.now() + 5s);
  CHECK_FALSE(parts.progress.should_stop({}));  // nothing was proposed yet
  CHECK(parts.progress.wait_deadline() == world.clock.now() + 100ms);
  CHECK_FALSE(parts.progress.should_stop({}, 4));
  CHECK(parts.progress.should_stop({}, 0));
  parts.progress.count(timed(1'000));
  CHECK(parts.progress.should_stop(1'000, 3));
  CHECK(parts.result.stop_reason == "wall time budget");
}

TEST_CASE("five evaluations in a row without a verdict are the environment's failure") {
  World world(same_result);
  SearchParts parts(world);
  const EvaluationResult broken = failed(Status::infrastructure_error);
  for (int i = 0; i < 4; ++i) parts.progress.count_failures(broken);
  parts.progress.count_failures(failed(Status::incorrect));  // a verdict
  for (int i = 0; i < 4; ++i) parts.progress.count_failures(broken);
  CHECK_THROWS_WITH(parts.progress.count_failures(broken),
                    Catch::StartsWith("5 evaluations in a row") && Catch::Contains("planned failure"));
}

TEST_CASE("a report counts what passed and failed, and says when the first did") {
  World world(same_result);
  std::vector<Progress> reports;
  int best = 0;
  world.options.on_progress = [&](const Progress& progress) { reports.push_back(progress); };
  world.options.on_new_best = [&](const Completed&, const PredictedScore*) { ++best; };
  SearchParts parts(world);
  const auto end = [&](const EvaluationResult& result, bool new_best) {
    world.clock.advance_to(world.clock.now() + 2s);
    parts.progress.count(result);
    const Completed completed = test::completed_at(parts.context, 0, result);
    CHECK((parts.offer(completed, 0) == OfferResult::leads) == new_best);
    parts.progress.report(completed, new_best, 3, parts.champion);
  };
  end(failed(Status::incorrect), false);
  end(timed(1'000), true);
  end(timed(2'000), false);
  REQUIRE(reports.size() == 3);
  CHECK(reports[2].evaluated == 3);
  CHECK(reports[2].verified == 2);
  CHECK(reports[2].failed == 1);
  CHECK(reports[2].in_flight == 3);
  CHECK(reports[2].elapsed_s == Approx(6));
  CHECK(reports[2].first_verified_s == 4.0);
  CHECK_FALSE(reports[0].first_verified_s);
  CHECK(reports[0].last != nullptr);
  CHECK(parts.result.progress.last == nullptr);
  CHECK(best == 1);
}

}  // namespace
}  // namespace ak::agent
