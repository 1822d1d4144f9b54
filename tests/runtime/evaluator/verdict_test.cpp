// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/verdict.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/runtime/evaluator/job_samples.h"

namespace ak::runtime {
namespace {

EvaluationJob job_of_times(double small_ns, double large_ns) {
  EvaluationJob job = test::inspected_job({.time_sizes = {1'000'000, 4'000'000}});
  job.result.measurements = {test::cold_time("t1000000", small_ns), test::cold_time("t4000000", large_ns)};
  return job;
}

TEST_CASE("a score is the geometric mean of the candidate's cold times alone") {
  EvaluationJob job = job_of_times(10'000, 40'000);
  for (const MeasurementRole role : {MeasurementRole::champion, MeasurementRole::baseline}) {
    job.result.measurements.push_back(test::cold_time("t1000000", 1));
    job.result.measurements.back().role = role;
  }
  job.result.measurements.push_back(test::cold_time("t1000000", 1));
  job.result.measurements.back().cold = false;
  REQUIRE(score_of(job));
  CHECK(*score_of(job) == Approx(20'000));
}

TEST_CASE("without times, or with a time of nothing, there is no score") {
  CHECK_FALSE(score_of(test::inspected_job({.time_sizes = {1'000}})));
  CHECK_FALSE(score_of(job_of_times(0, 40'000)));
}

TEST_CASE("a time below what the memory traffic needs is refused with workload and both times") {
  const DeviceFacts device = test::target_device();
  CHECK_FALSE(faster_than_possible(job_of_times(100'000, 400'000), device));
  const auto refused = faster_than_possible(job_of_times(100'000, 10), device);
  REQUIRE(refused);
  CHECK(refused->status == Status::below_floor);
  CHECK(refused->stage == StageId::verdict);
  CHECK(refused->gate == Gate::floor);
  CHECK_THAT(refused->message, Catch::Contains("t4000000") && Catch::StartsWith("0.01 us"));
}

TEST_CASE("what was read from a warm cache may be faster than memory") {
  EvaluationJob job = job_of_times(100'000, 400'000);
  job.result.measurements.push_back(test::cold_time("t1000000", 10));
  job.result.measurements.back().cold = false;
  CHECK_FALSE(faster_than_possible(job, test::target_device()));
}

}  // namespace
}  // namespace ak::runtime
