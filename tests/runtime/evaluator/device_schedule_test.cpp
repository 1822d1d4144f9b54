// SPDX-License-Identifier: Apache-2.0
// The schedule of one CPU device, seen through its evaluator.
#include "runtime/evaluator/device_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/runtime/evaluator/job_samples.h"
#include "tests/support/patience.h"

namespace ak::runtime {
namespace {

struct CpuDevice {
  explicit CpuDevice(bool time_baseline = false, int ordinal = 0) {
    EvaluatorOptions options;
    options.ordinal = ordinal;
    options.device = DeviceKind::emulator;
    options.target = test::kTarget;
    options.max_emulators = 1;
    options.compile_workers = 1;
    options.worker_command = ak::test::self_as_worker();
    options.compile_deadline = testing::kPatience;
    options.time_baseline = time_baseline;
    evaluator = make_local_evaluator(std::move(options), ak::test::plain_assembler());
  }
  /// Adds `a` and `b`, in steps that make another program.
  EvaluationRequest request(const std::string& name, int steps) const {
    EvaluationRequest made = test::add_request({});
    made.problem = problem;
    made.candidate = ak::test::make_candidate(
        name, ak::test::elementwise_plan("add"),
        "extern \"C\" __global__ void add(const float* a, const float* b, float* c, long long n) {\n"
        "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
        "  for (int step = 0; step < " +
            std::to_string(steps) + "; ++step) __syncthreads();\n  if (i < n) c[i] = a[i] + b[i];\n}\n");
    return made;
  }
  EvaluationResult next() {
    auto completed = evaluator->wait_any(testing::out_of_patience());
    REQUIRE(completed);
    last = completed->ticket;
    INFO(completed->result.outcome.message);
    return completed->result;
  }

  std::shared_ptr<const ProblemInstance> problem = ak::test::make_problem({});
  std::unique_ptr<Evaluator> evaluator;
  Ticket last = 0;  ///< of the result of next()
};

std::ptrdiff_t baselines(const EvaluationResult& result) {
  return std::ranges::count(result.measurements, MeasurementRole::baseline, &Measurement::role);
}

TEST_CASE("a program that runs already is not run twice at once: the later job takes its results") {
  CpuDevice device;
  const Ticket first = device.evaluator->submit(device.request("first.cu", 1));
  const Ticket second = device.evaluator->submit(device.request("second.cu", 1));
  const EvaluationResult run = device.next();
  CHECK(device.last == first);
  CHECK(run.outcome.status == Status::ok);
  const EvaluationResult same = device.next();
  CHECK(device.last == second);
  CHECK(same.outcome.status == Status::duplicate);
  CHECK_THAT(same.outcome.message, Catch::Contains("first.cu"));
  CHECK(same.score_ns == run.score_ns);
}

TEST_CASE("the CPU device examines what another GPU than the first has found") {
  CpuDevice device(false, 1);  // as the options of a search on cuda:1 have it
  static_cast<void>(device.evaluator->submit(device.request("k.cu", 1)));
  CHECK(device.next().outcome.status == Status::ok);
}

TEST_CASE("different programs run in the order in which they were built") {
  CpuDevice device;
  std::vector<Ticket> submitted, ended;
  for (int steps = 1; steps <= 3; ++steps)
    submitted.push_back(device.evaluator->submit(device.request("k.cu", steps)));
  for (int i = 0; i < 3; ++i) {
    CHECK(device.next().outcome.status == Status::ok);
    ended.push_back(device.last);
  }
  CHECK(ended == submitted);
}

TEST_CASE("the baselines go along with the first result, and again with one in a fresh process") {
  CpuDevice device(true);
  const auto evaluated = [&](EvaluationRequest request) {
    static_cast<void>(device.evaluator->submit(std::move(request)));
    return device.next();
  };
  const EvaluationResult first = evaluated(device.request("first.cu", 1));
  CHECK(first.outcome.status == Status::ok);
  CHECK(baselines(first) > 0);
  CHECK(baselines(evaluated(device.request("second.cu", 2))) == 0);
  EvaluationRequest again = device.request("first.cu", 1);
  again.fresh_process = true;
  const EvaluationResult fresh = evaluated(again);
  CHECK(fresh.outcome.status == Status::ok);  // and no duplicate
  CHECK(baselines(fresh) == baselines(first));
}

TEST_CASE("a cancelled job leaves the device to the others") {
  CpuDevice device;
  const Ticket endless = device.evaluator->submit(device.request("endless.cu", 1'000'000'000));
  const Ticket other = device.evaluator->submit(device.request("other.cu", 1));
  CHECK_FALSE(device.evaluator->wait_any(std::chrono::steady_clock::now()));
  device.evaluator->cancel(endless);
  CHECK(device.next().outcome.status == Status::interrupted);
  CHECK(device.last == endless);
  CHECK(device.next().outcome.status == Status::ok);
  CHECK(device.last == other);
}

}  // namespace
}  // namespace ak::runtime
