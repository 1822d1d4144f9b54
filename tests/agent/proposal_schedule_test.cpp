// SPDX-License-Identifier: Apache-2.0
#include "agent/proposal_schedule.h"

#include <catch2/catch.hpp>

#include "agent/search/history.h"
#include "tests/agent/search_parts.h"

namespace ak::agent {
namespace {

using test::failed;
using test::on_surface;
using test::SearchParts;
using test::timed;
using test::World;

/// Waits for an evaluation and takes it in; false when none is in flight.
bool end_one(World& world, SearchParts& parts) {
  const auto completed = world.device.wait_any(test::TimePoint::max());
  if (!completed) return false;
  const auto flight = parts.schedule.take(completed->ticket);
  REQUIRE(flight);
  const auto stored = parts.record.commit(*completed, {.arm = "a", .iteration = flight->iteration});
  parts.progress.count(completed->result);
  parts.schedule.learn(*completed, *flight, stored.evaluation, completed->result.score_ns);
  return true;
}

TEST_CASE("as many are in flight as keep the device busy, and no more than a budget has room for") {
  World world(on_surface);
  world.options.budgets.max_evaluations = 6;
  SearchParts parts(world);
  parts.schedule.fill({});
  CHECK(parts.schedule.in_flight() == 4);
  for (int i = 0; i < 3; ++i) CHECK(end_one(world, parts));
  parts.schedule.fill({});
  CHECK(parts.schedule.in_flight() == 3);
  while (end_one(world, parts)) parts.schedule.fill({});
  CHECK(world.device.submitted == 6);
}

TEST_CASE("a proposal without a verdict is tried once more") {
  World world([](const EvaluationRequest&) { return failed(Status::infrastructure_error); });
  world.options.templates = {test::grid_template("one", 1, 1)};
  SearchParts parts(world);
  parts.schedule.fill({});
  CHECK(end_one(world, parts));
  CHECK(world.store.told.empty());
  parts.schedule.fill({});
  CHECK(end_one(world, parts));
  CHECK(world.store.told.size() == 1);
  parts.schedule.fill({});
  CHECK(parts.schedule.in_flight() == 0);
  CHECK(world.device.submitted == 2);
}

TEST_CASE("of what passed but has no rank the strategy learns nothing, not that it failed") {
  World world(on_surface);
  SearchParts parts(world);
  parts.schedule.fill({});
  for (const bool ranked : {false, true}) {
    const auto completed = world.device.wait_any(test::TimePoint::max());
    REQUIRE(completed);
    const auto flight = parts.schedule.take(completed->ticket);
    const auto stored = parts.record.commit(*completed, {.arm = "a", .iteration = flight->iteration});
    parts.schedule.learn(*completed, *flight, stored.evaluation, ranked ? std::optional(1.0) : std::nullopt);
    CHECK(world.store.told.size() == (ranked ? 1 : 0));
  }
}

TEST_CASE("a point that is given up is neither pending nor proposed again") {
  History history(std::make_shared<TunableSpace>(
      TunableSpace::build({{"X", {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}}}}, {}).value()));
  history.propose(1);
  history.give_up(1);
  CHECK(history.pending().empty());
  CHECK_FALSE(history.unseen(1));
  CHECK_FALSE(history.answered(1));
}

TEST_CASE("a source that writes leaves the strategies half of the evaluations, and all while it rests") {
  World world(on_surface);
  test::ListSource source;
  world.options.source = &source;
  world.options.budgets.max_evaluations = 8;
  SearchParts parts(world);
  parts.schedule.fill({});
  while (end_one(world, parts)) parts.schedule.fill({});
  CHECK(world.device.submitted == 5);  // the template's own point is not a strategy's
  source.rests = true;
  parts.schedule.fill({});
  while (end_one(world, parts)) parts.schedule.fill({});
  CHECK(world.device.submitted == 8);
}

TEST_CASE("another ticket is none of its proposals, and what is given up is not taken") {
  World world(on_surface);
  SearchParts parts(world);
  parts.schedule.fill({});
  CHECK_FALSE(parts.schedule.take(1));
  parts.schedule.cancel();
  CHECK(world.device.cancelled == 4);
  CHECK(parts.schedule.in_flight() == 4);
  parts.schedule.clear();
  const auto completed = world.device.wait_any(test::TimePoint::max());
  REQUIRE(completed);
  CHECK_FALSE(parts.schedule.take(completed->ticket));
}

}  // namespace
}  // namespace ak::agent
