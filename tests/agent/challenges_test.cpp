// SPDX-License-Identifier: Apache-2.0
#include "agent/challenges.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "tests/agent/search_parts.h"

namespace ak::agent {
namespace {

using test::failed;
using test::SearchParts;
using test::timed;
using test::timed_in_pairs;
using test::World;

/// A champion of 1,000 ns and a challenger that seemed to take 900.
struct Duel {
  explicit Duel(EvaluationResult comparison)
      : world([comparison](const EvaluationRequest&) { return comparison; }) {
    world.device.capabilities_.device.kind = DeviceKind::cuda;
    world.options.stop_requested = &stop;
    world.options.on_new_best = [this](const Completed& best, const PredictedScore*) {
      announced.push_back(best);
    };
    parts.emplace(world);
    challenges.emplace(parts->context, parts->record, parts->progress, parts->champion);
    CHECK(parts->offer(test::completed_at(parts->context, 1, timed(1'000)), 0) == OfferResult::leads);
    CHECK(parts->offer(test::completed_at(parts->context, 2, timed(900)), 1) == OfferResult::challenges);
  }
  std::int64_t leader() const { return parts->champion.best()->request.candidate.tunables.at("X"); }

  std::atomic<bool> stop = false;
  World world;
  std::vector<Completed> announced;
  std::optional<SearchParts> parts;
  std::optional<Challenges> challenges;
};

TEST_CASE("a challenger that wins in pairs takes the lead, is recorded and announced") {
  Duel duel(timed_in_pairs(900, 1'000));
  duel.challenges->settle_rest(true);
  CHECK(duel.leader() == 2);
  REQUIRE(duel.world.device.requests.size() == 1);
  REQUIRE(duel.world.device.requests[0].rival);
  CHECK(duel.world.device.requests[0].rival->tunables.at("X") == 1);
  CHECK(duel.world.device.requests[0].tag == "1001");
  CHECK(duel.world.store.rows.back().arm == "comparison");
  CHECK(duel.announced.size() == 1);
  CHECK(duel.parts->progress.spent().evaluations == 0);  // no part of the search
}

TEST_CASE("a challenger that loses stays behind") {
  Duel duel(timed_in_pairs(1'010, 1'000));
  duel.challenges->settle_rest(true);
  CHECK(duel.leader() == 1);
  CHECK(duel.announced.empty());
}

TEST_CASE("a challenger found wrong never leads, and a champion found wrong loses the lead") {
  Duel wrong(failed(Status::incorrect));
  wrong.challenges->settle_rest(true);
  CHECK(wrong.leader() == 1);
  EvaluationResult champion_fault = failed(Status::incorrect);
  champion_fault.rival_failed = true;
  Duel fallen(champion_fault);
  fallen.challenges->settle_rest(true);
  CHECK(fallen.leader() == 2);
  CHECK(fallen.world.store.rows.back().point.at("X") == 1);  // whose outcome it is
}

TEST_CASE("one comparison is in flight at a time, and another evaluation is none") {
  Duel duel(timed_in_pairs(900, 1'000));
  duel.challenges->start();
  duel.challenges->start();
  CHECK(duel.world.device.submitted == 1);
  CHECK(duel.challenges->in_flight());
  Completed other = test::completed_at(duel.parts->context, 3, timed(1'000));
  CHECK_FALSE(duel.challenges->take(other));
}

TEST_CASE("who asks to stop does not wait for a comparison") {
  Duel duel(timed_in_pairs(900, 1'000));
  duel.world.device.duration = [](const EvaluationRequest&) { return std::chrono::minutes(1); };
  duel.stop = true;
  duel.challenges->settle_rest(true);
  CHECK(duel.world.device.cancelled == 1);
  CHECK_FALSE(duel.challenges->in_flight());
  CHECK(duel.leader() == 1);
  CHECK(duel.parts->result.interrupted);
}

TEST_CASE("a comparison that takes too long at the end is given up") {
  Duel duel(timed_in_pairs(900, 1'000));
  duel.world.device.duration = [](const EvaluationRequest&) { return std::chrono::minutes(1); };
  duel.challenges->settle_rest(true);
  CHECK(duel.world.device.cancelled == 1);
  CHECK(duel.leader() == 1);
}

}  // namespace
}  // namespace ak::agent
