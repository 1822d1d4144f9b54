// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/device_messages.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/check/check.h"
#include "runtime/check/harness_kernels.h"
#include "runtime/timing/sampling.h"

namespace ak::runtime {
namespace {

TEST_CASE("a device answer survives JSON, NaN and infinity included") {
  DeviceAnswer answer;
  answer.outcome = {
      .status = Status::incorrect, .stage = StageId::recheck, .message = "c[3] is wrong", .diagnostics = {}};
  answer.outcome.diagnostics = {{"error", "why", 4, 2, R"({"kind":"out_of_bounds"})"}, {"note", "more"}};
  answer.checks.push_back({.workload = "n7",
                           .distribution = "normal",
                           .seed = ~0ull,
                           .tensor = "c",
                           .passed = false,
                           .max_error = std::numeric_limits<double>::infinity(),
                           .mean_error = 0.5,
                           .tolerance = 1e-3,
                           .worst_index = 3,
                           .worst_expected = -std::numeric_limits<double>::infinity(),
                           .worst_got = std::numeric_limits<double>::quiet_NaN(),
                           .nonfinite_mismatches = 2});
  Measurement measurement;
  measurement.workload = "t7";
  measurement.samples_ns = {5, 4'294'967'295u};
  measurement.median_ns = 12.5;
  measurement.counts = {{"inst/warp", 7}};
  measurement.line_counts = {{12, {{"flop/f32", 3}}}};
  measurement.energy =
      Energy{.joule = 0.012, .power_w = 512, .call_ns = 23'437, .calls = 45'000, .unavailable_reason = ""};
  answer.measurements.push_back(measurement);
  answer.lost = true;
  answer.rival_failed = true;
  const DeviceAnswer read = device_answer_from_json(parse_json(to_json(answer).dump()));
  CHECK(read.outcome.status == Status::incorrect);
  CHECK(read.outcome.stage == StageId::recheck);
  CHECK(read.outcome.message == "c[3] is wrong");
  REQUIRE(read.checks.size() == 1);
  CHECK(read.checks[0].seed == ~0ull);
  CHECK(std::isinf(read.checks[0].max_error));
  CHECK(read.checks[0].worst_expected == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(read.checks[0].worst_got));
  REQUIRE(read.measurements.size() == 1);
  CHECK(read.measurements[0].samples_ns == measurement.samples_ns);
  CHECK(read.measurements[0].counts == measurement.counts);
  CHECK(read.measurements[0].line_counts == measurement.line_counts);
  CHECK(read.measurements[0].energy.value().joule == 0.012);
  CHECK(read.measurements[0].energy.value().calls == 45'000);
  REQUIRE(read.outcome.diagnostics.size() == 2);
  CHECK(read.outcome.diagnostics[0].details == answer.outcome.diagnostics[0].details);
  CHECK(read.outcome.diagnostics[1].details.empty());
  CHECK(read.lost);
  CHECK(read.rival_failed);
}

TEST_CASE("a device task survives JSON with its binary program") {
  DeviceTask task;
  task.image = {.image = std::string("\x7f"
                                     "ELF\0\xff",
                                     6),
                .kernels = {{"f<float>", "_Z1fIfEvv"}}};
  task.seed = 42;
  ResolvedLaunch launch;
  launch.kernel = "f<float>";
  launch.grid = {7, 1, 1};
  launch.arguments = {ResolvedPointer{"a"}, ResolvedScalar{.type = ScalarType::i64, .integer = 9, .real = 0}};
  task.workloads.push_back({.workload = "n9",
                            .plan = {.workspace = {}, .tensor_maps = {}, .launches = {launch}},
                            .distributions = {"normal"},
                            .time = true,
                            .champion_score_ns = 3.5,
                            .separate_outputs = true});
  task.mutation = "zeros";
  task.mutated_input = "x";
  task.follow_bytes = true;
  const DeviceTask read = device_task_from_json(parse_json(to_json(task).dump()));
  CHECK(read.image.image == task.image.image);
  CHECK(read.image.kernels == task.image.kernels);
  REQUIRE(read.workloads.size() == 1);
  CHECK(read.workloads[0].champion_score_ns == 3.5);
  CHECK(read.workloads[0].separate_outputs);
  CHECK(read.mutation == "zeros");
  CHECK(read.mutated_input == "x");
  CHECK(read.follow_bytes);
  REQUIRE(read.workloads[0].plan.launches.size() == 1);
  CHECK(read.workloads[0].plan.launches[0].grid[0] == 7);
  CHECK(read.workloads[0].plan.launches[0].arguments.size() == 2);
}

TEST_CASE("inputs that are NaN and infinite survive JSON on their way to a device") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  OpenProblem problem;
  problem.arch = {8, 0, 0};
  ak_random::Draw draw{};
  draw.kind = InputKind::choices;
  draw.scale = kInfinity;
  draw.choice_count = 5;
  draw.choices[0] = 0.5;
  draw.choices[1] = std::numeric_limits<double>::quiet_NaN();
  draw.choices[2] = -kInfinity;
  draw.choices[3] = -std::numeric_limits<double>::quiet_NaN();
  draw.choices[4] = -0.0;
  WorkloadLayout workload;
  workload.distributions.push_back({.name = "odd", .draws = {draw}});
  problem.workloads.push_back(workload);
  problem.tolerance.most_error = 1e-3;
  const OpenProblem read = open_problem_from_json(parse_json(to_json(problem).dump()));
  CHECK(read.tolerance.most_error == 1e-3);
  const ak_random::Draw& got = read.workloads.at(0).distributions.at(0).draws.at(0);
  CHECK(got.scale == kInfinity);
  REQUIRE(got.choice_count == 5);
  CHECK(got.choices[0] == 0.5);
  CHECK(std::isnan(got.choices[1]));
  CHECK(!std::signbit(got.choices[1]));
  CHECK(got.choices[2] == -kInfinity);
  CHECK(std::isnan(got.choices[3]));
  CHECK(std::signbit(got.choices[3]));
  CHECK(std::signbit(got.choices[4]));
}

TEST_CASE("the blocks of a comparison add up, and the worst element is the one of the largest error") {
  const std::uint64_t none = ~std::uint64_t{0};
  const Comparison all = merge_blocks({{0.1, 0.2, 0.3, 5, 1, 1, 4, 0, none, 0, none, 5, 5, 2, 2},
                                       {0.7, 0.8, 0.6, 9, 2, 1, 5, 1, 11, 0, none, 3, 9, 0, 1},
                                       {0, 0, 0, none, 0, 0, 0, 0, none, 3, 20, none, 0, none, 0}},
                                      10);
  CHECK(all.max_error == 0.7);
  CHECK(all.worst == 9);
  CHECK(all.mean_error == Approx(0.1));
  CHECK(all.rms_error == Approx(0.3));
  CHECK(all.far == 2);
  CHECK(all.unequal == 9);
  CHECK(all.wrong == 3);
  CHECK(all.nonfinite == 1);
  CHECK(all.first_nonfinite == 11);
  CHECK(all.unwritten == 3);
  CHECK(all.first_unwritten == 20);
  CHECK(all.first_wrong == 3);
  CHECK(all.last_wrong == 9);
  CHECK(all.first_column == 0);
  CHECK(all.last_column == 2);
  CHECK(merge_blocks({{0, 0, 0, none, 0, 0, 0, 0, none, 0, none, none, 0, none, 0}}, 10).last_wrong == -1);
}

TEST_CASE("a flat index is shown as the tensor's indices") {
  CHECK(element_name("y", {4, 33}, 3 * 33 + 17) == "y[3,17]");
  CHECK(element_name("y", {}, 0) == "y");
  CHECK(element_name("y", {2, 3, 4}, 23) == "y[1,2,3]");
}

TEST_CASE("sampling stops when the median is known, the budget is spent, or the candidate is hopeless") {
  const TimingBudget budget;
  const std::vector<double> steady(10, 1'000.0);
  CHECK(decide({}, budget, {}) == Sampling::go_on);
  CHECK(decide(std::span(steady).first(9), budget, {}) == Sampling::go_on);
  CHECK(decide(steady, budget, {}) == Sampling::converged);
  CHECK(decide(std::span(steady).first(5), budget, 400.0) == Sampling::permanent);
  CHECK(decide(std::span(steady).first(4), budget, 400.0) == Sampling::go_on);
  CHECK(decide(std::span(steady).first(5), budget, 760.0) == Sampling::permanent);
  CHECK(decide(std::span(steady).first(5), budget, 780.0) == Sampling::go_on);
  const std::vector<double> unsure{900, 1'500, 1'500, 1'500, 1'500};  // the least of five says how slow it is
  CHECK(decide(unsure, budget, 760.0) == Sampling::go_on);
  CHECK(decide(unsure, budget, 690.0) == Sampling::permanent);
  std::vector<double> noisy;
  for (int i = 0; i < 200; ++i) noisy.push_back(i % 2 == 0 ? 1'000 : 2'000);
  CHECK(decide(std::span(noisy).first(100), budget, {}) == Sampling::go_on);
  CHECK(decide(noisy, budget, {}) == Sampling::exhausted);
  for (double& sample : noisy) sample *= 1e4;
  CHECK(decide(std::span(noisy).first(10), budget, {}) == Sampling::exhausted);
  CHECK(decide(std::vector<double>(2, 1.5e9), budget, {}) == Sampling::exhausted);
}

}  // namespace
}  // namespace ak::runtime
