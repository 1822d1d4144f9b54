// SPDX-License-Identifier: Apache-2.0
// The schedule of one CPU device, seen through its evaluator.
#include "runtime/evaluator/device_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/runtime/evaluator/job_samples.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_folder.h"

namespace ak::runtime {
namespace {

struct CpuDevice {
  explicit CpuDevice(bool time_baseline = false, int ordinal = 0, std::vector<std::string> around = {}) {
    EvaluatorOptions options;
    options.ordinal = ordinal;
    options.device = DeviceKind::emulator;
    options.target = test::kTarget;
    options.max_emulators = 1;
    options.compile_workers = 1;
    options.worker_command = std::move(around);
    std::ranges::copy(ak::test::self_as_worker(), std::back_inserter(options.worker_command));
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

// Passes the messages of the real worker on, whose command it gets. The first that run a candidate announce a
// millisecond for it and say no more, as on a machine whose driver is busy.
constexpr const char* kLateWorker = R"(
import json, pathlib, signal, subprocess, sys, threading

folder, times = pathlib.Path(sys.argv[1]), int(sys.argv[2])
worker = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pass_on():
    for line in sys.stdin.buffer:
        worker.stdin.write(line)
        worker.stdin.flush()
    worker.stdin.close()
threading.Thread(target=pass_on, daemon=True).start()
for line in worker.stdout:
    message = json.loads(line)
    runs = message['type'] == 'progress' and message['body']['doing'] == 'candidate'
    if runs and len(list(folder.iterdir())) < times:
        (folder / str(worker.pid)).touch()
        message['body']['limit_ms'] = 1
        print(json.dumps(message), flush=True)
        signal.pause()
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
)";

/// Its first `times` workers stand still when they run a candidate.
struct LateDevice {
  explicit LateDevice(int times)
      : device(false, 0, {"python3", "-c", kLateWorker, folder.path().string(), std::to_string(times)}) {}

  ak::testing::TemporaryFolder folder;
  CpuDevice device;
};

std::ptrdiff_t baselines(const EvaluationResult& result) {
  return std::ranges::count(result.measurements, MeasurementRole::baseline, &Measurement::role);
}

TEST_CASE("a program that was late once runs again, and its result says so") {
  LateDevice late(1);
  late.device.evaluator->submit(late.device.request("add.cu", 1));
  const EvaluationResult result = late.device.next();
  CHECK(result.outcome.status == Status::ok);
  REQUIRE(result.outcome.diagnostics.size() == 1);
  CHECK(result.outcome.diagnostics[0].severity == "warning");
  CHECK_THAT(result.outcome.diagnostics[0].message,
             Catch::StartsWith("when it ran first, ") && Catch::Contains("did not finish within"));
}

TEST_CASE("a program that is late twice hangs, and one that was late before gets no second try") {
  LateDevice late(3);
  for (int steps : {1, 1, 2}) {
    late.device.evaluator->submit(late.device.request("add.cu", steps));
    const EvaluationResult result = late.device.next();
    INFO(result.outcome.message);
    CHECK(result.outcome.status == (steps == 1 ? Status::hang : Status::ok));
  }
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
