// SPDX-License-Identifier: Apache-2.0
// Several devices in one evaluator: who joins, what becomes of a lost task, and what stays on the first device.
#include "runtime/fleet/device_pool.h"

#include <poll.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/file.h"
#include "tests/runtime/evaluator/job_samples.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

const DevicePlace kGood{.name = "a good one", .worker_command = {}};
/// Hears its parent's hello, greets, and ends before it has heard more: whatever it is given is lost with it.
DevicePlace deaf() {
  std::vector<std::string> command{"/bin/sh", "-c", "(head -n 1; sleep 0.5) | exec \"$0\" \"$@\""};
  for (const std::string& word : ak::test::self_as_worker()) command.push_back(word);
  return {.name = "a deaf one", .worker_command = command};
}
const DevicePlace kAbsent{.name = "an absent one", .worker_command = {"/bin/false"}};

EvaluatorOptions options_of(std::vector<DevicePlace> places) {
  EvaluatorOptions options;
  options.device = DeviceKind::emulator;
  options.target = test::kTarget;
  options.pool = std::move(places);
  options.compile_workers = 1;
  options.worker_command = ak::test::self_as_worker();
  options.compile_deadline = testing::kPatience;
  options.time_baseline = false;
  return options;
}

/// Adds, in steps that make another program.
EvaluationRequest adding(const std::shared_ptr<const ProblemInstance>& problem, int steps) {
  EvaluationRequest made = test::add_request({});
  made.problem = problem;
  made.candidate = ak::test::make_candidate(
      "k.cu", ak::test::elementwise_plan("add"),
      "extern \"C\" __global__ void add(const float* a, const float* b, float* c, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
      "  for (int step = 0; step < " +
          std::to_string(steps) + "; ++step) __syncthreads();\n  if (i < n) c[i] = a[i] + b[i];\n}\n");
  return made;
}

/// How many of so many evaluations end in each way, on a pool of these devices.
std::map<Status, int> ends_on(std::vector<DevicePlace> places, int evaluations) {
  const auto problem = ak::test::make_problem({});
  const auto evaluator = make_local_evaluator(options_of(std::move(places)), ak::test::plain_assembler());
  std::set<Ticket> submitted;
  for (int steps = 1; steps <= evaluations; ++steps)
    submitted.insert(evaluator->submit(adding(problem, steps)));
  std::map<Status, int> ends;
  while (!submitted.empty()) {
    const auto completed = evaluator->wait_any(testing::out_of_patience());
    REQUIRE(completed);
    CHECK(submitted.erase(completed->ticket) == 1);  // each ends once
    ++ends[completed->result.outcome.status];
  }
  CHECK_FALSE(evaluator->wait_any(steady_clock::now()));
  return ends;
}

TEST_CASE("the devices of a pool share the evaluations, each of which ends once") {
  CHECK(ends_on({kGood, kGood, kGood}, 5) == std::map<Status, int>{{Status::ok, 5}});
}

TEST_CASE("what is lost with a device is sent once more to another, and ends well there") {
  CHECK(ends_on({deaf(), kGood}, 4) == std::map<Status, int>{{Status::ok, 4}});
}

TEST_CASE("what is lost with two devices is not sent to a third") {
  CHECK(ends_on({deaf(), deaf()}, 1) == std::map<Status, int>{{Status::infrastructure_error, 1}});
}

TEST_CASE("a device whose worker does not start ends no run that has another") {
  CHECK(ends_on({kAbsent, kGood}, 2) == std::map<Status, int>{{Status::ok, 2}});
}

// ---- who joins

/// A worker that says it sees these GPUs: {name, uuid} of device 0.
DevicePlace pretended(const testing::TemporaryFolder& folder, const std::string& name,
                      const std::string& uuid) {
  DeviceFacts facts = test::target_device();
  facts.name = name;
  facts.memory_bytes = 141'000'000'000;
  facts.uuid = uuid;
  facts.ordinal = 0;
  const std::filesystem::path script = folder / "worker.py";
  write_file_atomically(script,
                        "import json, sys\n"
                        "facts = json.loads(sys.argv[1])\n"
                        "for line in sys.stdin:\n"
                        "    said = json.loads(line)\n"
                        "    answers = {'hello': ('hello', {'protocol': 1, 'pid': 1}),\n"
                        "               'describe': ('devices', {'devices': [facts]})}\n"
                        "    if said['type'] not in answers: continue\n"
                        "    said['type'], said['body'] = answers[said['type']]\n"
                        "    print(json.dumps(said), flush=True)\n");
  return {.name = uuid, .worker_command = {"python3", script.string(), to_json(facts).dump()}};
}

/// Polls until no worker is about to join.
void let_join(DevicePool& pool) {
  for (DeviceLine& line : pool.lines()) static_cast<void>(pool.ready(line));
  const auto joins = [](const DeviceLine& line) { return line.client.joining(); };
  while (std::ranges::any_of(pool.lines(), joins)) {
    std::vector<pollfd> descriptors;
    pool.add_descriptors(descriptors);
    constexpr std::chrono::milliseconds kWait(testing::kPatience);
    REQUIRE(::poll(descriptors.data(), descriptors.size(), static_cast<int>(kWait.count())) > 0);
    pool.poll();
  }
}

TEST_CASE("a GPU of another model and a GPU that is in the pool already are left out") {
  const testing::TemporaryFolder folder;
  EvaluatorOptions options =
      options_of({pretended(folder, "NVIDIA H200", "GPU-1"), pretended(folder, "NVIDIA H100", "GPU-2"),
                  pretended(folder, "NVIDIA H200", "GPU-1"), pretended(folder, "NVIDIA H200", "GPU-3")});
  options.device = DeviceKind::cuda;
  DevicePool pool(options);
  let_join(pool);
  CHECK(pool.facts().uuid == "GPU-1");
  CHECK(pool.present() == 2);
  const auto& lines = pool.lines();
  CHECK(lines[1].breaker.has_left());
  CHECK(lines[2].breaker.has_left());
  REQUIRE(lines[3].device);
  CHECK(pool.other_device(lines[3])->uuid == "GPU-3");
  CHECK(pool.other_device(lines[0]) == nullptr);
}

TEST_CASE("what decides runs on the first device, and on the next one when that rests") {
  const testing::TemporaryFolder folder;
  EvaluatorOptions options =
      options_of({pretended(folder, "NVIDIA H200", "GPU-1"), pretended(folder, "NVIDIA H200", "GPU-2")});
  options.device = DeviceKind::cuda;
  DevicePool pool(options);
  let_join(pool);
  auto& lines = pool.lines();
  CHECK(pool.decides(lines[0]));
  CHECK_FALSE(pool.decides(lines[1]));
  for (int i = 0; i < DeviceBreaker::kTolerated; ++i) pool.note_loss(lines[0], "fell off the bus");
  CHECK_FALSE(pool.ready(lines[0]));
  CHECK(pool.decides(lines[1]));
}

// ---- the breaker

TEST_CASE("a device that loses worker after worker rests, longer each time, until it answers") {
  DeviceBreaker breaker;
  auto now = steady_clock::now();
  CHECK_FALSE(breaker.note_loss(now));
  CHECK_FALSE(breaker.note_loss(now));
  CHECK(breaker.lets_pass(now));
  CHECK(breaker.note_loss(now));
  CHECK_FALSE(breaker.lets_pass(now));
  CHECK(breaker.lets_pass(now + DeviceBreaker::kFirstRest));  // half open: one more task
  CHECK(breaker.note_loss(now));
  CHECK_FALSE(breaker.lets_pass(now + DeviceBreaker::kFirstRest));
  for (int i = 0; i < 100; ++i) static_cast<void>(breaker.note_loss(now));
  CHECK(breaker.rests_until() == now + DeviceBreaker::kLongestRest);
  breaker.note_answer();
  CHECK_FALSE(breaker.note_loss(now + seconds(1'000)));
  CHECK(breaker.lets_pass(now + seconds(1'000)));
}

}  // namespace
}  // namespace ak::runtime
