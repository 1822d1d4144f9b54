// SPDX-License-Identifier: Apache-2.0
#include "agent/source_exchange.h"

#include <catch2/catch.hpp>

#include "tests/agent/search_parts.h"
#include "tests/support/refused_space.h"

namespace ak::agent {
namespace {

using test::failed;
using test::ListSource;
using test::SearchParts;
using test::timed;
using test::World;

struct Exchange {
  explicit Exchange(bool with_source = true, bool profile = false)
      : world([](const EvaluationRequest&) { return timed(1'000); }) {
    if (with_source) world.options.source = &source;
    world.options.templates = {test::grid_template("grid", 3, 3)};
    world.options.origins = {{0, {.proposer = "port", .arm = "ported", .parents = {}}}};
    world.device.capabilities_.device.kind = DeviceKind::cuda;
    if (profile) world.options.profile.emplace();
    parts.emplace(world);
    exchange.emplace(parts->context, parts->proposals, parts->record, parts->progress, parts->champion);
  }
  Flight flight(std::size_t index, bool is_start = true) const {
    return {
        .item = {.proposal = {.template_index = index, .point = {}, .is_start = is_start}, .predicted = {}},
        .iteration = 0};
  }
  Completed completed(EvaluationResult result) const {
    return test::completed_at(parts->context, 1, std::move(result));
  }
  Offer offer(const std::string& name, const std::string& input_error = "") const {
    return {.candidate = test::grid_template(name, 2, 2),
            .origin = {.proposer = "model", .arm = "improve", .parents = {4}},
            .input_error = input_error};
  }

  ListSource source;
  World world;
  std::optional<SearchParts> parts;
  std::optional<SourceExchange> exchange;
};

TEST_CASE("an accepted offer is a template of its own, whose points come from its own point") {
  Exchange test;
  CHECK_FALSE(test.exchange->take_offer(true));
  test.source.offers.push_back(test.offer("new"));
  CHECK(test.exchange->take_offer(true));
  REQUIRE(test.parts->proposals.size() == 2);
  REQUIRE(test.exchange->origin_of(test.flight(1)));
  CHECK(test.exchange->origin_of(test.flight(1))->proposer == "model");
  test.exchange->tell(test.completed(timed(1'000)), test.flight(1), 1007);
  CHECK(test.exchange->origin_of(test.flight(1))->proposer == "search");
  CHECK(test.exchange->origin_of(test.flight(1))->parents == std::vector<RowId>{1007});
}

TEST_CASE("an offer that is not a candidate is recorded with its reason and told to the source") {
  Exchange test;
  test.source.offers.push_back(test.offer("bad", "it has no plan"));
  CHECK_FALSE(test.exchange->take_offer(true));
  CHECK(test.parts->proposals.size() == 1);
  REQUIRE(test.world.store.rows.size() == 1);
  CHECK(test.world.store.rows[0].status == Status::invalid_candidate);
  CHECK(test.world.store.rows[0].proposer == "model");
  REQUIRE(test.source.told.size() == 1);
  CHECK(test.source.told[0].first.result.outcome.message == "it has no plan");
  CHECK(test.parts->result.progress.refused == 1);
}

TEST_CASE("an offer whose own point breaks a constraint is refused with the constraint") {
  Exchange test;
  Offer broken = test.offer("broken");
  broken.candidate.plan.constraints.push_back(Expression::parse("X > 5").value());
  test.source.offers.push_back(std::move(broken));
  CHECK_FALSE(test.exchange->take_offer(false));
  REQUIRE(test.source.told.size() == 1);
  CHECK_THAT(test.source.told[0].first.result.outcome.message, Catch::Contains("X > 5"));
}

TEST_CASE("a promising offer is searched, and one that is much slower is not") {
  for (const double time_ns : {1'900.0, 2'100.0}) {
    Exchange test;
    test.parts->offer(test.completed(timed(1'000)), 0);
    test.source.offers.push_back(test.offer("new"));
    CHECK(test.exchange->take_offer(true));
    const auto before = test.parts->proposals.space_points();
    test.exchange->tell(test.completed(timed(time_ns)), test.flight(1), 1007);
    CHECK((test.parts->proposals.space_points() > before) == (time_ns < 2'000));
  }
}

TEST_CASE("the source is told when the tunables of its kernel are not searched, and why") {
  Exchange test;
  Offer refused = test.offer("refused");
  ak::test::add_refused_tunables(refused.candidate);
  test.source.offers.push_back(std::move(refused));
  test.source.offers.push_back(test.offer("new"));
  for (std::size_t index = 1; index <= 2; ++index) {
    CHECK(test.exchange->take_offer(true));
    test.exchange->tell(test.completed(timed(1'000)), test.flight(index), 1007);
  }
  REQUIRE(test.source.told.size() == 2);
  const Outcome& outcome = test.source.told[0].first.result.outcome;
  CHECK(outcome.status == Status::ok);
  CHECK_THAT(explain(outcome), Catch::Contains("note: its tunables are not searched: the constraints "
                                               "distinguish too many beginnings of points"));
  CHECK(test.source.told[1].first.result.outcome.diagnostics.empty());
}

TEST_CASE("the source hears nothing of an evaluation without a verdict until it was tried again") {
  Exchange test;
  const Completed broken = test.completed(failed(Status::infrastructure_error));
  Flight flight = test.flight(0);
  test.exchange->tell(broken, flight, 1001);
  CHECK(test.source.told.empty());
  flight.item.proposal.is_retry = true;
  test.exchange->tell(broken, flight, 1001);
  CHECK(test.source.told.size() == 1);
}

TEST_CASE("a kernel that may be improved is profiled before the source receives it") {
  Exchange test(true, true);
  test.exchange->tell(test.completed(timed(1'000)), test.flight(0), 1003);
  CHECK(test.source.told.empty());
  CHECK_FALSE(test.exchange->idle());
  auto profiled = test.world.device.wait_any(test::TimePoint::max());
  REQUIRE(profiled);
  CHECK(profiled->request.profile);
  profiled->result.profiles.emplace_back();
  CHECK(test.exchange->take_profile(*profiled));
  CHECK(test.exchange->idle());
  REQUIRE(test.source.told.size() == 1);
  CHECK(test.source.told[0].first.result.profiles.size() == 1);
  CHECK(test.source.told[0].second == 1003);
  REQUIRE(test.world.store.rows.size() == 1);
  CHECK(test.world.store.rows[0].arm == "profile");
  CHECK_FALSE(test.exchange->take_profile(*profiled));
}

TEST_CASE("a point of a strategy that does not lead is not profiled") {
  Exchange test(true, true);
  test.parts->offer(test.completed(timed(1'000)), 0);
  test.exchange->tell(test.completed(timed(1'100)), test.flight(0, false), 1003);
  CHECK(test.exchange->idle());
  CHECK(test.source.told.size() == 1);
}

TEST_CASE("profiles in flight are cancelled, and without a source there are none") {
  Exchange test(true, true);
  test.exchange->tell(test.completed(timed(1'000)), test.flight(0), 1003);
  test.exchange->cancel();
  CHECK(test.exchange->idle());
  CHECK(test.world.device.cancelled == 1);
  Exchange alone(false, true);
  alone.exchange->tell(alone.completed(timed(1'000)), alone.flight(0), 1003);
  CHECK(alone.exchange->idle());
  CHECK(alone.exchange->origin_of(alone.flight(0))->parents == std::vector<RowId>{1003});
}

}  // namespace
}  // namespace ak::agent
