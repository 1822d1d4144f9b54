// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/held_out.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "core/error.h"
#include "tests/codegen/sample_problem.h"

namespace ak::codegen {
namespace {

HeldOutRange range(std::int64_t low, std::int64_t high, WorkloadTier tier = WorkloadTier::gpu) {
  return {.name = "any", .axes = {{"N", {.low = low, .high = high}}}, .tier = tier};
}

ProblemInstance problem_with(std::vector<HeldOutRange> ranges) {
  const testing::SampleProblem sample;
  ProblemInstance problem = *sample.instantiate();
  problem.definition.constraints.clear();
  problem.held_out = std::move(ranges);
  return problem;
}

std::vector<std::int64_t> sizes(const ProblemInstance& problem, int count, std::uint64_t seed,
                                DeviceKind device = DeviceKind::cuda) {
  std::vector<std::int64_t> list;
  for (const Workload& workload : sample_held_out(problem, device, count, seed))
    list.push_back(workload.axes.at("N"));
  return list;
}

TEST_CASE("held-out shapes are checked, named by number, and in their range with both bounds") {
  const ProblemInstance problem = problem_with({range(5, 7)});
  const auto workloads = sample_held_out(problem, DeviceKind::cuda, 100, 1);
  REQUIRE(workloads.size() == 100);
  CHECK(workloads[0].name == "held_out_1");
  CHECK(workloads[99].name == "held_out_100");
  std::set<std::int64_t> seen;
  for (const Workload& workload : workloads) {
    CHECK(workload.has(WorkloadRole::check));
    CHECK_FALSE(workload.has(WorkloadRole::time));
    CHECK(workload.uid.size() == 32);
    seen.insert(workload.axes.at("N"));
  }
  CHECK(seen == std::set<std::int64_t>{5, 6, 7});
}

TEST_CASE(
    "shapes to time on a GPU come from its own ranges, and from those of the CPU device where it has none") {
  HeldOutRange small = range(5, 7), large = range(1000, 2000);
  small.tier = WorkloadTier::emulator, large.tier = WorkloadTier::gpu;
  const ProblemInstance both = problem_with({small, large}), one = problem_with({small});
  for (const Workload& shape : sample_to_time(both, DeviceKind::cuda, 50, 1))
    CHECK(shape.axes.at("N") >= 1000);
  for (const Workload& shape : sample_to_time(both, DeviceKind::emulator, 50, 1))
    CHECK(shape.axes.at("N") <= 7);
  CHECK(sample_to_time(one, DeviceKind::cuda, 50, 1).size() == 50);
}

TEST_CASE("a range may be one size, and as large as an integer can be") {
  CHECK(sizes(problem_with({range(77, 77)}), 3, 1) == std::vector<std::int64_t>{77, 77, 77});
  for (const std::int64_t size : sizes(problem_with({range(INT64_MAX - 5, INT64_MAX)}), 100, 1))
    CHECK(size >= INT64_MAX - 5);
}

TEST_CASE("each octave of a range is as likely as the next") {
  std::array<int, 4> count{};
  for (const std::int64_t size : sizes(problem_with({range(16, 255)}), 4000, 3))
    ++count[size < 32 ? 0 : size < 64 ? 1 : size < 128 ? 2 : 3];
  for (const int each : count) {  // 1,000, of which the standard deviation is 27
    CHECK(each > 850);
    CHECK(each < 1150);
  }
}

TEST_CASE("equal seeds give equal shapes on every machine, others give others") {
  const ProblemInstance problem = problem_with({range(1, 1'000'000'000)});
  CHECK(sizes(problem, 5, 1) == sizes(problem, 5, 1));
  CHECK(sizes(problem, 5, 1) != sizes(problem, 5, 2));
  CHECK(sizes(problem, 5, 1) != sizes(problem, 5, std::uint64_t{1} << 32 | 1));
  CHECK(sizes(problem, 5, 1) == std::vector<std::int64_t>{841552771, 105, 666, 242, 83846});
}

TEST_CASE("shapes are found however rare the multiples that the constraints ask for") {
  ProblemInstance problem = problem_with({});
  Definition& definition = problem.definition;
  for (const char* axis : {"M", "K"}) {
    definition.axes.push_back(definition.axes.front());
    definition.axes.back().name = axis;
    definition.axes.back().value = std::nullopt;
  }
  definition.constraints = {"N % 64 == 0", "M % 96 == 0", "K % 112 == 0", "(M * K) % 128 == 0"};
  problem.held_out = {{.name = "any",
                       .axes = {{"N", {.low = 1, .high = 5000}},
                                {"M", {.low = 1, .high = 5000}},
                                {"K", {.low = 1, .high = 5000}}},
                       .tier = WorkloadTier::gpu}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto workloads = sample_held_out(problem, DeviceKind::cuda, 6, seed);
    REQUIRE(workloads.size() == 6);
    for (const Workload& workload : workloads) {
      CHECK(workload.axes.at("N") % 64 == 0);
      CHECK(workload.axes.at("M") * workload.axes.at("K") % 128 == 0);
    }
  }
}

TEST_CASE("the ranges take turns, and a device takes those of its tiers") {
  const ProblemInstance problem = problem_with(
      {range(1, 9, WorkloadTier::emulator), range(100, 109), range(1000, 1009, WorkloadTier::deep)});
  for (const std::int64_t size : sizes(problem, 10, 1, DeviceKind::emulator)) CHECK(size <= 9);
  const auto on_gpu = sizes(problem, 10, 1);
  for (std::size_t i = 0; i < on_gpu.size(); ++i) CHECK((on_gpu[i] <= 9) == (i % 2 == 0));
  for (const std::int64_t size : on_gpu) CHECK(size <= 109);
  CHECK(sizes(problem_with({range(100, 109)}), 6, 1, DeviceKind::emulator).empty());
}

TEST_CASE(
    "shapes are drawn again until the constraints hold, and where they cannot an error names the range") {
  ProblemInstance problem = problem_with({range(1, 1000)});
  problem.definition.constraints = {"N % 7 == 0"};
  for (const std::int64_t size : sizes(problem, 50, 1)) CHECK(size % 7 == 0);
  problem.definition.constraints = {"N > 1000"};
  try {
    static_cast<void>(sizes(problem, 1, 1));
    FAIL("a shape was drawn");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(std::string(error.what()).find("'any'") != std::string::npos);
    CHECK(std::string(error.what()).find("N > 1000") != std::string::npos);
  }
}

/// A problem of axes N, M and K without constraints.
ProblemInstance problem_of_three_axes(AxisRange range) {
  ProblemInstance problem = problem_with({});
  problem.held_out = {{.name = "any", .axes = {{"N", range}}, .tier = WorkloadTier::gpu}};
  for (const char* axis : {"M", "K"}) {
    problem.definition.axes.push_back(problem.definition.axes.front());
    problem.definition.axes.back().name = axis;
    problem.held_out.front().axes[axis] = range;
  }
  return problem;
}

TEST_CASE("every size is a multiple within the bounds, and each of them is drawn") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t multiple = 1 + static_cast<std::int64_t>(random() % 200);
    const std::int64_t low = 1 + static_cast<std::int64_t>(random() % 1'000);
    const AxisRange range{.low = low,
                          .high = (low / multiple + 1 + static_cast<std::int64_t>(random() % 5)) * multiple,
                          .multiple = multiple};
    const ProblemInstance problem = problem_of_three_axes(range);
    std::set<std::int64_t> seen;
    for (const Workload& workload : sample_held_out(problem, DeviceKind::cuda, 60, random())) {
      for (const auto& [axis, size] : workload.axes) {
        INFO(axis << " = " << size << " of [" << range.low << ", " << range.high << "], multiple "
                  << multiple);
        REQUIRE(size % multiple == 0);
        REQUIRE((size >= range.low && size <= range.high));
        seen.insert(size);
      }
    }
    const auto possible = range.high / multiple - (range.low - 1) / multiple;
    CHECK(static_cast<std::int64_t>(seen.size()) == possible);
  }
}

TEST_CASE("of listed sizes each is as likely as the next, and constraints choose among them") {
  ProblemInstance problem = problem_of_three_axes({.low = 7, .high = 4096, .values = {7, 64, 96, 4096}});
  std::map<std::int64_t, int> count;
  for (const Workload& workload : sample_held_out(problem, DeviceKind::cuda, 1'000, 5)) {
    for (const auto& [axis, size] : workload.axes) ++count[size];
  }
  REQUIRE(count.size() == 4);
  for (const auto& [size, times] : count) CHECK(std::abs(times - 750) < 150);
  problem.definition.constraints = {"N % 32 == 0", "M <= N", "(M + K) % 2 == 1"};
  for (const Workload& workload : sample_held_out(problem, DeviceKind::cuda, 100, 6))
    CHECK((workload.axes.at("N") % 32 == 0 && workload.axes.at("M") <= workload.axes.at("N")));
}

TEST_CASE("multiples of 16 on three axes that are also coupled are found under every seed") {
  ProblemInstance problem = problem_of_three_axes({.low = 16, .high = 4096, .multiple = 16});
  problem.definition.constraints = {"N >= M", "(N * K) % 512 == 0", "N * M * K <= 1000000000"};
  for (std::uint64_t seed = 0; seed < 500; ++seed)
    REQUIRE(sample_held_out(problem, DeviceKind::cuda, 6, seed).size() == 6);
}

TEST_CASE(
    "around a shape are its neighbours and small shapes, and wishes keep out what a candidate excludes") {
  ProblemInstance problem = problem_of_three_axes({});
  const AxisValues shape{{"N", 4096}, {"M", 1}, {"K", 1000}};
  problem.held_out = ranges_around(problem, shape);
  const ShapeWishes wishes{.known = {{"VECTOR", std::int64_t{8}}},
                           .constraints = {Expression::parse("K % VECTOR == 0").value(),
                                           Expression::parse("unheard_of > 1").value()},
                           .accepts = [&](const AxisValues& sizes) { return sizes != shape; }};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto near = sample_held_out(problem, DeviceKind::cuda, 6, seed, wishes);
    REQUIRE(near.size() == 6);
    for (std::size_t i = 0; i < near.size(); ++i) {
      CHECK(near[i].axes.at("K") % 8 == 0);
      CHECK((near[i].tier == WorkloadTier::gpu) == (i % 2 == 0));
      if (i % 2 == 0) CHECK((near[i].axes.at("N") >= 3072 && near[i].axes.at("N") <= 4608));
    }
    for (const Workload& small : sample_held_out(problem, DeviceKind::emulator, 4, seed, wishes))
      CHECK((small.axes.at("N") <= 41 && small.axes.at("M") == 1 && small.axes.at("K") <= 41));
  }
  const ShapeWishes none{.accepts = [](const AxisValues&) { return false; }};
  CHECK(sample_held_out(problem, DeviceKind::cuda, 6, 1, none).empty());
}

TEST_CASE("a shape is drawn as often as is wished, and the only one of a range once") {
  const ProblemInstance problem = problem_of_three_axes({});
  const auto draws_of = [&](const HeldOutRange& range, std::uint32_t draws) {
    std::uint32_t asked = 0;
    const ShapeWishes wishes{.draws = draws, .accepts = [&](const AxisValues&) { return ++asked == 0; }};
    CHECK_FALSE(draw_shape(problem, range, 1, 0, wishes).ok());
    return asked;
  };
  const HeldOutRange several{
      .name = "several",
      .axes = {{"N", {.low = 1, .high = 4096}}, {"M", {.low = 1, .high = 9}}, {"K", {.low = 8, .high = 8}}}};
  const HeldOutRange one{
      .name = "one",
      .axes = {{"N", {.low = 64, .high = 64}}, {"M", {.low = 9, .high = 9}}, {"K", {.low = 8, .high = 8}}}};
  CHECK(draws_of(several, kMaxShapeDraws) == 1'000);
  CHECK(draws_of(several, 200) == 200);
  CHECK(draws_of(one, kMaxShapeDraws) == 1);
}

}  // namespace
}  // namespace ak::codegen
