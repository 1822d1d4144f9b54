// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_tasks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/runtime/evaluator/job_samples.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;

DeviceTasks gpu_tasks() { return {DeviceKind::cuda, test::target_device()}; }

EvaluationJob timed_job() { return test::inspected_job({.time_sizes = {2'000, 100'000'000}}); }

TEST_CASE("a task has the program, every workload with its plan, and times those that are timed") {
  EvaluationJob job = timed_job();
  job.request.seed = 7;
  const DeviceTask task = gpu_tasks().evaluation(job, {});
  CHECK(task.image.image == "machine code");
  CHECK(task.image.file_name == "add.cu");
  CHECK(task.seed == 7);
  CHECK(task.rival.image.empty());
  CHECK_FALSE(task.changing);
  CHECK(task.limit_ms > 60'000);  // and the time for its tensors
  REQUIRE(task.workloads.size() == 4);
  CHECK_FALSE(task.workloads[1].time);
  CHECK(task.workloads[2].time);
  CHECK(task.workloads[2].plan.launches.size() == 1);
  job.request.depth = Depth::check;
  for (const WorkloadTask& one : gpu_tasks().evaluation(job, {}).workloads) CHECK_FALSE(one.time);
}

TEST_CASE("the CPU device gets PTX, no short workloads and ten times as long") {
  EvaluationJob job = timed_job();
  const DeviceTasks tasks(DeviceKind::emulator, emulated_device_facts(test::kTarget));
  const DeviceTask task = tasks.evaluation(job, {});
  CHECK(task.image.image == job.result.build->ptx);
  CHECK(task.limit_ms == 600'000);
  CHECK(std::ranges::none_of(task.workloads, &WorkloadTask::batch));
}

TEST_CASE("small shapes are checked with every distribution, a timed one with another in the next turn") {
  EvaluationJob job = timed_job();
  std::set<std::string> seen;
  for (job.request.seed = 0; job.request.seed < 2; ++job.request.seed) {
    const DeviceTask task = gpu_tasks().evaluation(job, {});
    CHECK(task.workloads[0].distributions.size() == 2);
    REQUIRE(task.workloads[2].distributions.size() == 1);
    seen.insert(task.workloads[2].distributions[0]);
  }
  CHECK(seen.size() == 2);
  job.request.fresh_process = true;  // a champion gets all
  const DeviceTask task = gpu_tasks().evaluation(job, {});
  CHECK(task.workloads[2].distributions.size() == 2);
  CHECK(task.changing);
}

TEST_CASE("what is evaluated on its own is checked with every distribution on timed shapes, too") {
  EvaluationJob job = timed_job();
  job.request.changing_inputs = true;
  for (const WorkloadTask& one : gpu_tasks().evaluation(job, {}).workloads)
    CHECK(one.distributions.size() == 2);
}

TEST_CASE("calls that take little longer than an event pair are timed in batches, baselines alike") {
  const EvaluationJob job = timed_job();
  const DeviceTask task = gpu_tasks().evaluation(job, {});
  CHECK(task.workloads[2].batch);
  CHECK_FALSE(task.workloads[3].batch);
  const DeviceTask baseline = gpu_tasks().baseline(job);
  CHECK(baseline.image.image.empty());
  REQUIRE(baseline.workloads.size() == 2);
  CHECK(baseline.workloads[0].workload == "t2000");
  CHECK(baseline.workloads[0].batch);
  CHECK_FALSE(baseline.workloads[1].batch);
  CHECK(baseline.workloads[1].time);
  CHECK(baseline.budget.maximum_samples < task.budget.maximum_samples);
}

TEST_CASE("what estimates are fitted to is timed with fewer samples, and checked as all else is") {
  EvaluationJob job = timed_job();
  const DeviceTask task = gpu_tasks().evaluation(job, {});
  job.request.coarse_times = true;
  const DeviceTask coarse = gpu_tasks().evaluation(job, {});
  CHECK(coarse.budget.maximum_samples < task.budget.maximum_samples);
  CHECK(coarse.budget.relative_error > task.budget.relative_error);
  CHECK(coarse.budget.compared_samples < task.budget.compared_samples);
  CHECK(coarse.workloads[2].distributions.size() == task.workloads[2].distributions.size());
  CHECK(coarse.workloads[2].time);
}

TEST_CASE("a champion is known by its score, and by its share where several workloads are timed") {
  EvaluationJob one = test::inspected_job({.time_sizes = {2'000}});
  one.request.champion_score_ns = 300;
  CHECK(gpu_tasks().evaluation(one, {}).workloads[2].champion_score_ns == 300);
  EvaluationJob several = timed_job();
  several.request.champion_score_ns = 300;
  ProblemHistory history;
  CHECK_FALSE(gpu_tasks().evaluation(several, history).workloads[2].champion_score_ns);
  EvaluationResult best;
  best.score_ns = 100;
  best.measurements = {test::cold_time("t2000", 50), test::cold_time("t100000000", 200)};
  history.note_score(best);
  CHECK(gpu_tasks().evaluation(several, history).workloads[2].champion_score_ns == 150);
  CHECK(gpu_tasks().evaluation(several, history).workloads[3].champion_score_ns == 600);
}

TEST_CASE("energy is measured on one timed workload: of the greatest weight the largest") {
  EvaluationJob job = timed_job();
  const auto chosen = [&] {
    const DeviceTask task = gpu_tasks().evaluation(job, {});
    REQUIRE(std::ranges::count_if(task.workloads, &WorkloadTask::energy) == 1);
    return std::ranges::find_if(task.workloads, &WorkloadTask::energy)->workload;
  };
  CHECK(std::ranges::none_of(gpu_tasks().evaluation(job, {}).workloads, &WorkloadTask::energy));
  job.request.energy = true;
  CHECK(chosen() == "t100000000");
  Workload heavy = *job.plans[2].workload;
  heavy.weight = 3;
  job.plans[2].workload = &heavy;
  CHECK(chosen() == "t2000");
}

TEST_CASE("a rival comes with its program and its plans") {
  EvaluationJob job = timed_job();
  job.request.rival = std::make_shared<const Candidate>(job.request.candidate);
  job.rival_build = test::add_build();
  job.rival_build->cubin = "the other's code";
  job.rival_plans = job.plans;
  const DeviceTask task = gpu_tasks().evaluation(job, {});
  CHECK(task.rival.image == "the other's code");
  CHECK(task.workloads[2].rival_plan);
}

}  // namespace
}  // namespace ak::runtime
