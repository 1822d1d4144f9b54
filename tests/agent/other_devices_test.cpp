// SPDX-License-Identifier: Apache-2.0
// A champion is asked for again on other devices of its pool: what a liar gains, and what is said.
#include "agent/other_devices.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using test::failed;
using test::grid_template;
using test::surface_ns;
using test::timed;

const TunableValues kBest{{"X", 7}, {"Y", 3}}, kForged{{"X", 0}, {"Y", 9}};
constexpr double kForgedNs = 100;  // the best one takes 1,000

PoolPlace place(const std::string& name, bool own) {
  return {.place = name, .own = own, .device = std::make_shared<const DeviceFacts>(), .doing = "waits"};
}

/// A search on a pool whose first place answers what its evaluations do not name a place for.
struct PoolWorld : test::World {
  using Times = std::function<double(const EvaluationRequest&, const TunableValues&)>;

  /// @param times of a candidate, by the place that is asked
  PoolWorld(DeviceKind kind, std::vector<PoolPlace> places, Times times)
      : World([first = places.front().place, times](const EvaluationRequest& request) {
          const double ns = times(request, request.candidate.tunables);
          EvaluationResult result =
              request.rival ? test::timed_in_pairs(ns, times(request, request.rival->tunables)) : timed(ns);
          result.place = request.place.empty() ? first : request.place;
          return result;
        }) {
    device.capabilities_.device.kind = kind;
    device.places = std::move(places);
  }
  [[nodiscard]] std::ptrdiff_t asked_at(const std::string& name) const {
    return std::ranges::count(device.requests, name, &EvaluationRequest::place);
  }
};

/// The place where no other is named makes one candidate ten times as fast as any is.
double where_the_first_lies(const EvaluationRequest& request, const TunableValues& point) {
  return request.place.empty() && point == kForged ? kForgedNs : surface_ns(point);
}

/// Where some places find every candidate wrong in the same way.
struct WorldOfLies : test::World {
  WorldOfLies(const std::set<std::string>& liars, Status status, std::vector<PoolPlace> places)
      : World([=, first = places.front().place](const EvaluationRequest& request) {
          const double ns = surface_ns(request.candidate.tunables);
          EvaluationResult result =
              request.rival ? test::timed_in_pairs(ns, surface_ns(request.rival->tunables)) : timed(ns);
          if (liars.contains(request.place)) result = failed(status);
          result.place = request.place.empty() ? first : request.place;
          return result;
        }) {
    device.places = std::move(places);
  }
  [[nodiscard]] std::ptrdiff_t count(Status status) const {
    return std::ranges::count(store.rows, status, &test::VectorStore::Row::status);
  }
};

TEST_CASE("a worker elsewhere that forges times makes no champion where this machine has a device") {
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::emulator}) {
    PoolWorld world(kind, {place("a liar", false), place("another worker", false), place("cuda:0", true)},
                    where_the_first_lies);
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.best->request.candidate.tunables == kBest);
    CHECK(result.held_out.disqualified == 1);
    REQUIRE(result.other_devices.size() == 1);
    CHECK(result.other_devices.front().place == "cuda:0");  // asked before the other worker
    CHECK(result.other_devices.front().agrees);
    CHECK(world.asked_at("another worker") == 0);
  }
}

TEST_CASE(
    "where two workers elsewhere contradict each other the champion is not confirmed, and that is said") {
  PoolWorld world(DeviceKind::cuda, {place("a liar", false), place("another worker", false)},
                  where_the_first_lies);
  const LoopResult result = world.run();
  CHECK(result.best->request.candidate.tunables == kForged);
  REQUIRE(result.other_devices.size() == 2);
  CHECK_FALSE(result.other_devices.front().agrees);
  CHECK_FALSE(result.other_devices.front().deviates);
  CHECK_THAT(result.other_devices.front().note, Catch::Contains("where 0.1 us were said"));
  CHECK_THAT(result.other_devices.back().note,
             Catch::Contains("a liar and another worker contradict each other"));
  CHECK(result.deviations.empty());
  CHECK_THAT(result.final_measurement.note, Catch::Contains("contradicts it"));
  CHECK(std::ranges::count(world.store.rows, "final", &test::VectorStore::Row::arm) == 0);
}

TEST_CASE("where two workers elsewhere contradict each other a third decides, and who deviates is named") {
  const std::vector<PoolPlace> places{place("ssh gpu7", false), place("ssh gpu8", false),
                                      place("ssh gpu9", false)};
  // The first forges a time, or the second says that what is right is wrong.
  PoolWorld forged(DeviceKind::cuda, places, where_the_first_lies);
  const LoopResult without = forged.run();
  REQUIRE(without.best);
  CHECK(without.best->request.candidate.tunables == kBest);
  CHECK(without.held_out.disqualified == 1);
  REQUIRE(without.deviations.size() == 1);
  CHECK(without.deviations.front().place == "ssh gpu7");
  CHECK_THAT(without.deviations.front().note, Catch::Contains("what ssh gpu8 refuted"));
  CHECK(without.final_measurement.note.empty());

  WorldOfLies slandered({"ssh gpu8"}, Status::incorrect, places);
  slandered.device.capabilities_.device.kind = DeviceKind::cuda;
  const LoopResult with = slandered.run();
  REQUIRE(with.best);
  CHECK(with.best->request.candidate.tunables == kBest);
  CHECK(with.held_out.disqualified == 0);
  REQUIRE(with.other_devices.size() == 2);
  CHECK(with.other_devices.front().deviates);
  CHECK(with.other_devices.back().agrees);
  REQUIRE(with.deviations.size() == 1);
  CHECK(with.deviations.front().place == "ssh gpu8");
  CHECK(with.final_measurement.note.empty());
  CHECK(slandered.count(Status::incorrect) == 0);

  // Two say that it is wrong, and so it is for all that is known.
  WorldOfLies wrong({"ssh gpu8", "ssh gpu9"}, Status::incorrect, places);
  wrong.options.templates = {grid_template("grid", 1, 1)};
  const LoopResult nothing = wrong.run();
  CHECK_FALSE(nothing.best);
  CHECK(nothing.deviations.front().place == "ssh gpu7");
  CHECK(wrong.count(Status::incorrect) == 2);
}

TEST_CASE("a worker elsewhere takes no champion from this machine's own devices, whatever it says") {
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::emulator})
    for (const Status lie : {Status::incorrect, Status::launch_error}) {
      WorldOfLies world({"ssh gpu8"}, lie, {place("cuda:0", true), place("ssh gpu8", false)});
      world.device.capabilities_.device.kind = kind;
      world.options.confirm_devices = 2;
      const LoopResult result = world.run();
      REQUIRE(result.best);
      CHECK(result.best->request.candidate.tunables == kBest);
      CHECK(result.held_out.disqualified == 0);
      REQUIRE(result.other_devices.size() == 2);
      CHECK(result.other_devices.front().deviates);
      CHECK_THAT(result.other_devices.front().note, Catch::Contains("planned failure"));
      CHECK_THAT(result.other_devices.back().note, Catch::Contains("no other device was there"));
      REQUIRE(result.deviations.size() == 1);
      CHECK(result.deviations.front().place == "ssh gpu8");
      CHECK_FALSE(Catch::Contains("contradicts it").match(result.final_measurement.note));
      // Tables of results leave out what was found wrong at the end.
      const auto kept = std::ranges::find(world.store.rows, "examination", &test::VectorStore::Row::arm);
      REQUIRE(kept != world.store.rows.end());
      CHECK(kept->status == Status::infrastructure_error);
    }
}

/// Where a device of this machine finds every candidate, and the first device, which is elsewhere, decides who leads.
struct WorldOfAFinderHere : test::World {
  /// @param failures of every candidate, by the place that is asked
  explicit WorldOfAFinderHere(const std::map<std::string, Status>& failures)
      : World([=](const EvaluationRequest& request) {
          const double ns = surface_ns(request.candidate.tunables);
          EvaluationResult result =
              request.rival ? test::timed_in_pairs(ns, surface_ns(request.rival->tunables)) : timed(ns);
          const auto failure = failures.find(request.place);
          if (failure != failures.end()) result = failed(failure->second);
          result.place = request.place.empty() ? "cuda:0" : request.place;
          return result;
        }) {
    device.capabilities_.device.kind = DeviceKind::cuda;
    device.places = {place("ssh gpu7", false), place("ssh gpu8", false), place("ssh gpu9", false),
                     place("cuda:0", true)};
  }
};

TEST_CASE(
    "a device of this machine that found what another one made the champion is asked, and never named") {
  const std::map<std::string, Status> lies{{"ssh gpu8", Status::incorrect}, {"ssh gpu9", Status::incorrect}};
  WorldOfAFinderHere world(lies);
  world.options.confirm_devices = 3;
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == kBest);
  CHECK(result.held_out.disqualified == 0);
  REQUIRE(result.other_devices.size() == 4);
  CHECK(result.other_devices.front().place == "cuda:0");
  CHECK(result.other_devices.front().agrees);
  REQUIRE(result.deviations.size() == 2);
  CHECK(result.deviations.front().place == "ssh gpu8");
  CHECK(result.deviations.back().place == "ssh gpu9");

  // It does not answer: of those elsewhere most decide, and against the one that decided before.
  std::map<std::string, Status> silent = lies;
  silent["cuda:0"] = Status::timeout;
  WorldOfAFinderHere without(silent);
  without.options.templates = {grid_template("grid", 1, 1)};
  const LoopResult nothing = without.run();
  CHECK_FALSE(nothing.best);
  REQUIRE(nothing.deviations.size() == 1);
  CHECK(nothing.deviations.front().place == "ssh gpu7");
}

TEST_CASE("what another device of this machine finds wrong does not lead") {
  WorldOfLies world({"cuda:1"}, Status::incorrect, {place("cuda:0", true), place("cuda:1", true)});
  world.options.confirm_devices = 2;
  CHECK_FALSE(world.run().best);
}

TEST_CASE("a device that is too slow to answer, or cannot run it, says nothing against a champion") {
  for (const Status status : {Status::timeout, Status::unsupported}) {
    WorldOfLies world({"ssh gpu8"}, status,
                      {place("ssh gpu7", false), place("ssh gpu8", false), place("ssh gpu9", false)});
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.best->request.candidate.tunables == kBest);
    REQUIRE(result.other_devices.size() == 1);
    CHECK(result.other_devices.front().place == "ssh gpu9");
    CHECK(result.other_devices.front().agrees);
  }
}

TEST_CASE("the champion of a worker that is not of the present pool is asked for again") {
  const auto run = [](std::vector<PoolPlace> places) {
    test::World world([](const EvaluationRequest& request) {
      EvaluationResult result = timed(where_the_first_lies(request, request.candidate.tunables));
      result.place = request.place.empty() ? "ssh gone" : request.place;
      return result;
    });
    world.device.capabilities_.device.kind = DeviceKind::emulator;
    world.device.places = std::move(places);
    return world.run();
  };
  const LoopResult other_pool = run({place("cpu", true)});
  CHECK(other_pool.best->request.candidate.tunables == kBest);
  CHECK(other_pool.held_out.disqualified == 1);
  const LoopResult no_pool = run({});
  REQUIRE(no_pool.other_devices.size() == 1);
  CHECK_THAT(no_pool.other_devices.front().note,
             Catch::Contains("found by ssh gone, and no other device was there"));
}

TEST_CASE(
    "devices of this machine are asked as often as the pool's file says, and another order is said only") {
  const auto reversed = [](const EvaluationRequest& request, const TunableValues& point) {
    const double ns = surface_ns(point);
    return request.place == "cuda:1" && point == kBest ? 1.08 * ns : ns;
  };
  const std::vector<PoolPlace> places{place("cuda:0", true), place("cuda:1", true), place("cuda:2", true)};
  PoolWorld alone(DeviceKind::cuda, places, reversed);
  CHECK(alone.run().other_devices.empty());
  PoolWorld three(DeviceKind::cuda, places, reversed);
  three.options.confirm_devices = 3;
  const LoopResult result = three.run();
  CHECK(result.best->request.candidate.tunables == kBest);
  REQUIRE(result.other_devices.size() == 2);
  CHECK_FALSE(result.other_devices[0].agrees);
  CHECK_THAT(result.other_devices[0].note, Catch::Contains("the runner-up is") && Catch::Contains("faster"));
  CHECK(result.other_devices[1].agrees);
  CHECK(result.final_measurement.note.empty());
  PoolWorld many(DeviceKind::cuda, places, reversed);
  many.options.confirm_devices = 4;
  CHECK_THAT(many.run().other_devices.back().note, Catch::Contains("no other device"));
}

TEST_CASE("what the devices of a pool do is noted now and then, and at the end") {
  PoolWorld world(DeviceKind::emulator, {place("cpu", true)}, where_the_first_lies);
  static_cast<void>(world.run());
  REQUIRE(world.store.pools.size() == 2);  // the search takes a quarter of a second
  CHECK(world.store.pools.front().places.front().place == "cpu");
}

}  // namespace
}  // namespace ak::agent
