// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_history.h"

#include <catch2/catch.hpp>

#include "tests/runtime/evaluator/job_samples.h"

namespace ak::runtime {
namespace {

DeviceAnswer baseline_answer(Status status) {
  DeviceAnswer answer;
  answer.outcome.status = status;
  answer.outcome.diagnostics.push_back({.severity = "note", .message = "baseline cuBLASLt"});
  answer.measurements.push_back(test::cold_time("t1000", 500));
  answer.measurements.back().role = MeasurementRole::baseline;
  return answer;
}

EvaluationResult scored(double score_ns, double small_ns, double large_ns) {
  EvaluationResult result;
  result.score_ns = score_ns;
  result.measurements = {test::cold_time("t1000", small_ns), test::cold_time("t2000", large_ns)};
  return result;
}

TEST_CASE("the baselines and the notes on them go along with one result") {
  ProblemHistory history;
  CHECK_FALSE(history.baseline_timed());
  history.set_baseline_timed(true);
  history.keep_baselines(baseline_answer(Status::ok), nullptr);
  EvaluationResult first = scored(1, 1, 1), second = first;
  history.hand_over_baselines(first);
  history.hand_over_baselines(second);
  CHECK(first.measurements.size() == 3);
  REQUIRE(first.outcome.diagnostics.size() == 1);
  CHECK(first.outcome.diagnostics[0].message == "baseline cuBLASLt");
  CHECK(second.measurements.size() == 2);
  CHECK(second.outcome.diagnostics.empty());
}

TEST_CASE("the baselines of one device do not go along with a result of another") {
  const auto device = [](const std::string& uuid) {
    DeviceFacts facts = test::target_device();
    facts.uuid = uuid;
    return std::make_shared<const DeviceFacts>(facts);
  };
  ProblemHistory history;
  history.keep_baselines(baseline_answer(Status::ok), device("GPU-2"));
  EvaluationResult first, third, second;
  third.device = device("GPU-3");
  second.device = device("GPU-2");
  for (EvaluationResult* result : {&first, &third, &second}) history.hand_over_baselines(*result);
  CHECK(first.measurements.empty());
  CHECK(third.measurements.empty());
  CHECK(second.measurements.size() == 1);
}

TEST_CASE("GPUs without a UUID are one device at one place of a pool") {
  const auto device = std::make_shared<const DeviceFacts>(test::target_device());
  REQUIRE(device->uuid.empty());
  ProblemHistory history;
  history.keep_baselines(baseline_answer(Status::ok), device, "ssh gpu7");
  EvaluationResult here, there;
  here.place = "ssh gpu7";
  there.place = "ssh gpu8";
  for (EvaluationResult* result : {&there, &here}) {
    result->device = device;
    history.hand_over_baselines(*result);
  }
  CHECK(there.measurements.empty());
  CHECK(here.measurements.size() == 1);
}

TEST_CASE("baselines whose answer was lost are timed once more") {
  ProblemHistory history;
  for (const bool again : {true, false}) {
    history.set_baseline_timed(true);
    history.keep_baselines(baseline_answer(Status::infrastructure_error), nullptr);
    CHECK(history.baseline_timed() == !again);
  }
}

TEST_CASE("of baselines that failed there is no note") {
  ProblemHistory history;
  history.keep_baselines(baseline_answer(Status::out_of_memory), nullptr);
  EvaluationResult result;
  history.hand_over_baselines(result);
  CHECK(result.outcome.diagnostics.empty());
}

TEST_CASE("a champion's share of a workload is that of the best result, scaled to its score") {
  ProblemHistory history;
  CHECK_FALSE(history.share_ns(200, "t1000"));
  history.note_score(scored(100, 50, 200));
  history.note_score(scored(150, 9, 9));  // slower: not the best
  CHECK(history.share_ns(200, "t1000") == 100);
  CHECK(history.share_ns(200, "t2000") == 400);
  CHECK_FALSE(history.share_ns(200, "t3000"));
  EvaluationResult better = scored(80, 40, 160);
  better.measurements.push_back(test::cold_time("t2000", 1));
  better.measurements.back().cold = false;  // of a warm cache: no time to compare with
  history.note_score(better);
  CHECK(history.share_ns(80, "t2000") == 160);
}

}  // namespace
}  // namespace ak::runtime
