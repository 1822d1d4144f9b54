// SPDX-License-Identifier: Apache-2.0
#include "agent/held_out_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "agent/champion.h"
#include "codegen/problem/held_out.h"
#include "core/error.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using namespace std::chrono_literals;
using test::failed;
using test::surface_ns;
using test::timed;
using test::World;

bool is_held_out(const EvaluationRequest& request) {
  return !request.workloads.empty() && request.workloads.front().starts_with("held_out_");
}

EvaluationResult right() {
  EvaluationResult result;
  result.outcome = {Status::ok, StageId::verdict, "", {}};
  return result;
}

/// A problem with one axis and shapes from 2 to 1,000,000 on a device of any kind but an emulator.
std::shared_ptr<const ProblemInstance> problem_with_ranges() {
  auto problem = std::make_shared<ProblemInstance>(*test::make_problem());
  problem->definition.axes = {{.name = "N", .value = std::nullopt, .description = ""}};
  problem->held_out = {{.name = "any", .axes = {{"N", {.low = 2, .high = 1'000'000}}}}};
  return problem;
}

/// A search on a pool whose first place finds everything wrong on held-out shapes, as `wrong_at` do.
LoopResult run_with_liars(const std::vector<PoolPlace>& places, const std::set<std::string>& wrong_at) {
  World world([&](const EvaluationRequest& request) {
    const bool lies = is_held_out(request) && (request.place.empty() || wrong_at.contains(request.place));
    EvaluationResult result = lies                   ? failed(Status::incorrect)
                              : is_held_out(request) ? right()
                                                     : timed(surface_ns(request.candidate.tunables));
    result.place = request.place.empty() ? places.front().place : request.place;
    return result;
  });
  world.options.problem = problem_with_ranges();
  world.device.places = places;
  return world.run();
}

PoolPlace joined(const std::string& name, bool own) {
  return {.place = name, .own = own, .device = std::make_shared<const DeviceFacts>(), .doing = "waits"};
}

TEST_CASE(
    "what a worker elsewhere finds wrong on held-out shapes is asked of others, and who deviates is named") {
  const PoolPlace first = joined("ssh gpu7", false), second = joined("ssh gpu8", false),
                  third = joined("ssh gpu9", false), own = joined("cuda:0", true);
  const auto stays = [](const LoopResult& result) {
    return result.best && result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}};
  };
  for (const auto& places : {std::vector{first, second, own}, std::vector{first, second, third}}) {
    const LoopResult result = run_with_liars(places, {});
    CHECK(stays(result));
    CHECK(result.held_out.passed);
    REQUIRE(result.deviations.size() == 1);
    CHECK(result.deviations.front().place == "ssh gpu7");
  }
  CHECK(stays(run_with_liars({first, second, own}, {"ssh gpu8"})));
  CHECK_FALSE(run_with_liars({first, second, own}, {"cuda:0"}).best);
  CHECK_FALSE(run_with_liars({first, second, third}, {"ssh gpu9", "ssh gpu8"}).best);
  CHECK_FALSE(run_with_liars({first}, {}).best);  // who is alone is believed
  const LoopResult undecided = run_with_liars({first, second}, {});
  CHECK(stays(undecided));
  CHECK_FALSE(undecided.held_out.passed);
  CHECK_THAT(undecided.held_out.note, Catch::Contains("a worker elsewhere finds"));
  CHECK(undecided.deviations.empty());
}

TEST_CASE("a worker elsewhere alone disqualifies no champion where those that could decide do not answer") {
  const std::vector<PoolPlace> places{joined("ssh gpu7", false), joined("ssh gpu8", false),
                                      joined("ssh gpu9", false)};
  World world([&](const EvaluationRequest& request) {
    const double ns = surface_ns(request.candidate.tunables);
    EvaluationResult result =
        request.rival ? test::timed_in_pairs(ns, surface_ns(request.rival->tunables)) : timed(ns);
    if (is_held_out(request))
      result = failed(request.place.empty() ? Status::incorrect : Status::infrastructure_error);
    result.place = request.place.empty() ? places.front().place : request.place;
    return result;
  });
  world.options.problem = problem_with_ranges();
  world.device.places = places;
  world.device.capabilities_.device.kind = DeviceKind::cuda;
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.held_out.disqualified == 0);
  CHECK_FALSE(result.held_out.passed);
  CHECK_THAT(result.held_out.note, Catch::Contains("no other device decided it"));
  CHECK(result.deviations.empty());
  // It is not measured for good, which would make it confirmed.
  CHECK_THAT(result.final_measurement.note, Catch::Contains("contradicts it"));
  CHECK(std::ranges::count(world.store.rows, "final", &test::VectorStore::Row::arm) == 0);
  // What is not believed is no fault of the candidate in the tables either.
  CHECK(std::ranges::count(world.store.rows, Status::incorrect, &test::VectorStore::Row::status) == 0);
}

/// A template of which every point is slower than those of the grid.
constexpr double kSlow = 1e6;

/// Every point is right on the listed shapes; `held_out` answers for the others.
// Not on a GPU, where comparisons in pairs would come in between.
struct HeldOutWorld : World {
  explicit HeldOutWorld(std::function<EvaluationResult(const TunableValues&)> held_out)
      : World([=](const EvaluationRequest& request) {
          const TunableValues& point = request.candidate.tunables;
          if (is_held_out(request)) return held_out(point);
          return timed(point.contains("X") ? surface_ns(point) : kSlow);
        }) {
    options.problem = problem_with_ranges();
  }
  [[nodiscard]] std::vector<EvaluationRequest> held_out_requests() const {
    std::vector<EvaluationRequest> list;
    std::ranges::copy_if(device.requests, std::back_inserter(list), is_held_out);
    return list;
  }
};

TEST_CASE(
    "a champion that is wrong on held-out shapes is disqualified, and the next best that is right leads") {
  HeldOutWorld world(
      [](const TunableValues& point) { return point.at("X") == 7 ? failed(Status::incorrect) : right(); });
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 6}, {"Y", 3}});
  CHECK(result.best->result.score_ns == 1050);
  CHECK(result.progress.best_ns == 1050);
  CHECK(result.progress.evaluated == 100);
  CHECK(result.held_out.shapes == 6);
  CHECK(result.held_out.passed);
  CHECK(result.held_out.disqualified == 1);
  CHECK(result.held_out.note.empty());
  REQUIRE(world.store.rows.size() == 102);
  CHECK(world.store.rows[100].arm == "held_out");
  CHECK(world.store.rows[100].status == Status::incorrect);
  CHECK(world.store.rows[100].point == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(world.store.rows[101].status == Status::ok);
  CHECK(world.store.best_variant == result.best_variant);
  const auto row = static_cast<std::size_t>(*result.best_variant - 1001);
  CHECK(world.store.rows[row].point == result.best->request.candidate.tunables);
  CHECK(world.store.rows[row].arm != "held_out");
}

TEST_CASE("held-out evaluations are checks of their own shapes with their own inputs") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.held_out_seed = 5;
  static_cast<void>(world.run());
  REQUIRE(world.held_out_requests().size() == 1);
  const EvaluationRequest request = world.held_out_requests().front();
  CHECK(request.depth == Depth::check);
  CHECK(request.workloads.size() == 6);
  CHECK(request.problem->workloads.size() == 6);
  CHECK(request.seed != world.device.requests.front().seed);
  for (const Workload& workload : request.problem->workloads)
    CHECK(request.tag.find(workload.name + ": N=" + std::to_string(workload.axes.at("N"))) !=
          std::string::npos);
}

TEST_CASE("held-out shapes and inputs repeat with held_out_seed, and differ between searches without it") {
  const auto drawn = [](std::optional<std::uint64_t> held_out_seed) {
    HeldOutWorld world([](const TunableValues&) { return right(); });
    world.options.seed = 1;
    world.options.held_out_seed = held_out_seed;
    const std::string shapes = world.run().held_out.drawn;
    return std::pair(shapes, world.held_out_requests().front().seed);
  };
  CHECK(drawn(7) == drawn(7));
  CHECK(drawn(7) != drawn(8));
  CHECK(drawn(std::nullopt) != drawn(std::nullopt));
}

TEST_CASE("where no candidate passes held-out shapes there is no champion") {
  HeldOutWorld world([](const TunableValues&) { return failed(Status::memory_error); });
  const LoopResult result = world.run();
  CHECK_FALSE(result.best);
  CHECK_FALSE(result.best_variant);
  CHECK_FALSE(result.progress.best_ns);
  CHECK(result.held_out.disqualified == Champion::kKeptOfTemplate);
  REQUIRE(result.held_out.faults.size() == Champion::kKeptOfTemplate);
  CHECK(result.held_out.faults.front().starts_with("memory_error: "));
  CHECK_FALSE(result.held_out.passed);
  CHECK_FALSE(world.store.best_variant);
  CHECK(world.store.status == "finished");
}

TEST_CASE("a template that is wrong on held-out shapes does not crowd out a slower one that is right") {
  HeldOutWorld world(
      [](const TunableValues& point) { return point.contains("Z") ? right() : failed(Status::incorrect); });
  world.options.templates.push_back(test::make_template("honest", {{"Z", {0, 1}, 0}}));
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.name == "honest");
  CHECK(result.held_out.disqualified == Champion::kKeptOfTemplate);
}

TEST_CASE("an evaluation without a verdict is tried again, and disqualifies no one") {
  int attempts = 0;
  HeldOutWorld world(
      [&](const TunableValues&) { return ++attempts == 1 ? failed(Status::infrastructure_error) : right(); });
  CHECK(world.run().held_out.passed);
  CHECK(attempts == 2);

  HeldOutWorld broken([](const TunableValues&) { return failed(Status::invalid_reference); });
  const LoopResult result = broken.run();
  REQUIRE(result.best);
  CHECK(result.best->result.score_ns == 1000);
  CHECK(result.held_out.disqualified == 0);
  CHECK_FALSE(result.held_out.passed);
  CHECK(result.held_out.note == "invalid_reference: planned failure");
}

TEST_CASE("an interrupted search keeps its champion and says that held-out shapes were left out") {
  std::atomic<bool> stop = false;
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.stop_requested = &stop;
  world.options.on_progress = [&](const Progress& progress) { stop = progress.evaluated == 20; };
  const LoopResult result = world.run();
  CHECK(result.best);
  CHECK(world.held_out_requests().empty());
  CHECK(result.held_out.note == "interrupted");
}

TEST_CASE("Ctrl-C while held-out shapes are checked ends the search as stopped") {
  std::atomic<bool> stop = false;
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.stop_requested = &stop;
  world.device.duration = [&](const EvaluationRequest& request) {
    stop = is_held_out(request);
    return 10ms;
  };
  const LoopResult result = world.run();
  CHECK(result.best);
  CHECK(result.interrupted);
  CHECK(result.stop_reason == "interrupted");
  CHECK(result.held_out.note == "interrupted");
  CHECK(world.device.cancelled == 1);
  CHECK(world.store.status == "stopped");
}

TEST_CASE("held-out shapes that take minutes are given up, and the champion stays") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.device.duration = [](const EvaluationRequest& request) {
    return is_held_out(request) ? std::chrono::milliseconds(10min) : 10ms;
  };
  const LoopResult result = world.run();
  CHECK(result.best);
  CHECK(result.held_out.note == "out of time");
  CHECK(world.device.cancelled == 1);
  CHECK(result.progress.elapsed_s < 1);
}

TEST_CASE("nothing is checked where nothing runs, or where the problem has no range for the device") {
  HeldOutWorld none([](const TunableValues&) { return right(); });
  none.device.capabilities_.device.kind = DeviceKind::emulator;
  LoopResult result = none.run();
  CHECK(result.best);
  CHECK(none.held_out_requests().empty());
  CHECK(result.held_out.note.find("no ranges") != std::string::npos);

  HeldOutWorld build([](const TunableValues&) { return right(); });
  build.options.depth = Depth::build;
  result = build.run();
  CHECK(build.held_out_requests().empty());
  CHECK_FALSE(result.held_out.note.empty());
}

TEST_CASE("ranges that yield no shape cost no search its champion, and the report says why") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  auto problem = std::make_shared<ProblemInstance>(*problem_with_ranges());
  problem->definition.constraints = {"N % 7 == 0", "N % 7 == 1"};
  world.options.problem = problem;
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK_FALSE(result.held_out.passed);
  CHECK(result.held_out.disqualified == 0);
  CHECK(result.held_out.note.find("held-out range 'any'") != std::string::npos);
}

TEST_CASE("an examiner that cannot be made costs no search its champion either") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.examiners = {{.name = "CPU device", .make = []() -> std::unique_ptr<Evaluator> {
                                fail(ExitCode::environment, "no memory for it");
                              }}};
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.held_out.passed);
  REQUIRE(result.examinations.size() == 1);
  CHECK(result.examinations.front().note == "no memory for it");
}

/// Templates that launch a block for each element where `constraint` holds.
void launch_where(World& world, const std::string& constraint) {
  LaunchPlanEntry launch;
  launch.kernel = "k";
  launch.grid = {Expression::parse("N").value()};
  launch.block = {Expression::parse("32").value()};
  for (Candidate& candidate : world.options.templates) {
    candidate.plan.launches = {launch};
    candidate.plan.constraints.push_back(Expression::parse(constraint).value());
  }
}

/// The same problem for one shape of it.
std::shared_ptr<const ProblemInstance> problem_for_one_shape() {
  auto problem = std::make_shared<ProblemInstance>(*problem_with_ranges());
  problem->workloads = {{.name = "N=4096",
                         .uid = {},
                         .axes = {{"N", 4096}},
                         .roles = {WorkloadRole::check, WorkloadRole::time}}};
  problem->held_out = codegen::ranges_around(*problem, problem->workloads.front().axes);
  return problem;
}

TEST_CASE("a kernel for one shape is checked on shapes around it that its launch plan accepts") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.problem = problem_for_one_shape();
  launch_where(world, "N % 64 == 0");
  const LoopResult result = world.run();
  INFO(result.held_out.note);
  CHECK(result.held_out.passed);
  REQUIRE(world.held_out_requests().size() == 1);
  const EvaluationRequest request = world.held_out_requests().front();
  REQUIRE(request.problem->workloads.size() == 6);
  std::set<std::int64_t> sizes;
  for (const Workload& workload : request.problem->workloads) {
    CHECK(workload.axes.at("N") % 64 == 0);
    CHECK(workload.axes.at("N") != 4096);
    sizes.insert(workload.axes.at("N"));
  }
  CHECK(sizes.size() == 6);
}

TEST_CASE("a kernel whose launch plan is for one shape alone keeps the lead, and the report says so") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.problem = problem_for_one_shape();
  launch_where(world, "N == 4096");
  const LoopResult result = world.run();
  CHECK(result.best);
  CHECK(world.held_out_requests().empty());
  CHECK(result.held_out.note == "its launch plan is for the given shape alone");
}

TEST_CASE("a kernel for one shape is examined on small shapes around it") {
  HeldOutWorld world([](const TunableValues&) { return right(); });
  world.options.problem = problem_for_one_shape();
  launch_where(world, "N >= 1");
  std::vector<EvaluationRequest> examined;
  world.options.examiners = {{.name = "CPU device", .make = [&] {
                                auto examiner = std::make_unique<test::VirtualDevice>(
                                    world.clock, [&](const EvaluationRequest& request) {
                                      examined.push_back(request);
                                      return right();
                                    });
                                examiner->capabilities_.device.kind = DeviceKind::emulator;
                                return examiner;
                              }}};
  const LoopResult result = world.run();
  REQUIRE(result.examinations.size() == 1);
  CHECK(result.examinations.front().passed);
  REQUIRE(examined.size() == 1);
  CHECK(examined.front().workloads.size() == 4);
  for (const Workload& workload : examined.front().problem->workloads) CHECK(workload.axes.at("N") < 4096);
}

TEST_CASE("an examination whose worker was killed is done once more") {
  for (const int kills : {1, 2}) {
    INFO(kills);
    HeldOutWorld world([](const TunableValues&) { return right(); });
    world.options.problem = problem_for_one_shape();
    launch_where(world, "N >= 1");
    int asked = 0;
    world.options.examiners = {{.name = "CPU device", .make = [&] {
                                  auto examiner = std::make_unique<test::VirtualDevice>(
                                      world.clock, [&](const EvaluationRequest&) {
                                        EvaluationResult result = right();
                                        if (++asked <= kills)
                                          result.outcome.status = Status::infrastructure_error;
                                        return result;
                                      });
                                  examiner->capabilities_.device.kind = DeviceKind::emulator;
                                  return examiner;
                                }}};
    const LoopResult result = world.run();
    REQUIRE(result.examinations.size() == 1);
    CHECK(asked == 2);
    CHECK(result.examinations.front().passed == (kills == 1));
  }
}

}  // namespace
}  // namespace ak::agent
