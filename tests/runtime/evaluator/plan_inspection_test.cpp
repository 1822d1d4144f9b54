// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/plan_inspection.h"

#include <catch2/catch.hpp>

#include "tests/runtime/evaluator/job_samples.h"

namespace ak::runtime {
namespace {

using ak::test::TinyProblem;

TEST_CASE("every workload that suits a GPU gets its plan, and shared memory and occupancy are known") {
  EvaluationJob job = test::built_job({.time_sizes = {5'000}});
  CHECK_FALSE(inspect_plans(job, DeviceKind::cuda, test::target_environment()));
  REQUIRE(job.plans.size() == 3);
  CHECK(job.plans[0].workload->name == "n1");
  CHECK_FALSE(job.plans[1].timed);
  CHECK(job.plans[2].timed);
  CHECK(job.result.shared_bytes == 1'024);
  REQUIRE(job.result.occupancy);
}

TEST_CASE("on the CPU device the largest of its own workloads stands in for those that time a GPU") {
  EvaluationJob job = test::built_job({.time_sizes = {5'000}});
  CHECK_FALSE(inspect_plans(job, DeviceKind::emulator, test::target_environment()));
  REQUIRE(job.plans.size() == 2);
  CHECK(job.plans.back().workload->name == "n1000");
  CHECK(job.plans.back().timed);
}

TEST_CASE(
    "a constraint that no size can help is named before anything is built, another one waits for sizes") {
  EvaluationJob job = test::built_job({});
  auto& constraints = job.request.candidate.plan.constraints;
  constraints.push_back(Expression::parse("N > 1000000").value());
  CHECK_FALSE(inspect_constraints(job.request, test::target_environment()));
  constraints.push_back(Expression::parse("ARCH == 7").value());
  const auto broken = inspect_constraints(job.request, test::target_environment());
  REQUIRE(broken);
  CHECK(broken->status == Status::invalid_candidate);
  CHECK(broken->stage == StageId::pre_check);
  CHECK(broken->message == "launch plan: the constraint 'ARCH == 7' does not hold");
}

TEST_CASE("an argument of the wrong type ends the evaluation at resources") {
  EvaluationJob job = test::built_job({});
  job.result.build->kernels[0].parameter_types[3] = "u32";
  const auto wrong = inspect_plans(job, DeviceKind::cuda, test::target_environment());
  REQUIRE(wrong);
  CHECK(wrong->status == Status::invalid_candidate);
  CHECK(wrong->stage == StageId::resources);
}

TEST_CASE("what a rival cannot do now is the machine's fault and not the candidate's") {
  EvaluationJob job = test::built_job({});
  CHECK_FALSE(inspect_rival(job, DeviceKind::cuda, test::target_environment()));  // there is none
  job.request.rival = std::make_shared<const Candidate>(job.request.candidate);
  job.rival_build = test::add_build();
  CHECK_FALSE(inspect_rival(job, DeviceKind::cuda, test::target_environment()));
  CHECK(job.rival_plans.size() == 2);
  const auto no_times = inspect_rival(job, DeviceKind::emulator, test::target_environment());
  REQUIRE(no_times);
  CHECK(no_times->status == Status::infrastructure_error);
  job.rival_build->outcome = {
      .status = Status::compile_error, .stage = StageId::build, .message = "no", .diagnostics = {}};
  const auto unbuilt = inspect_rival(job, DeviceKind::cuda, test::target_environment());
  REQUIRE(unbuilt);
  CHECK(unbuilt->status == Status::infrastructure_error);
  CHECK(unbuilt->message == "what it is compared with: no");
}

std::string key_of(const EvaluationJob& job) {
  return program_key(job, emulator::TokenizedText(job.result.build->ptx));
}

TEST_CASE("a program is its code, its launches, its options and how far it is evaluated") {
  EvaluationJob job = test::inspected_job({});
  const std::string key = key_of(job);
  EvaluationJob renamed = job;
  renamed.request.candidate.name = "other.cu";
  renamed.request.candidate.source += "// a comment";
  CHECK(key_of(renamed) == key);
  EvaluationJob checked = job, optioned = job, grown = job, recompiled = job, shorter = job;
  checked.request.depth = Depth::check;
  CHECK(key_of(checked) != key);
  optioned.request.candidate.plan.options.emplace_back("-use_fast_math");
  CHECK(key_of(optioned) != key);
  grown.plans[0].plan.launches[0].grid[0] += 1;
  CHECK(key_of(grown) != key);
  recompiled.result.build->ptx = ".version 8.0\n.visible .entry add()\n{\nbar.sync 0;\nret;\n}\n";
  CHECK(key_of(recompiled) != key);
  shorter.plans.pop_back();
  CHECK(key_of(shorter) != key);
}

}  // namespace
}  // namespace ak::runtime
