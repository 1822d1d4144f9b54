// SPDX-License-Identifier: Apache-2.0
// Several devices in one evaluator: who joins, who is left out, and what stays on the first device.
#include "runtime/fleet/device_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/file.h"
#include "tests/runtime/evaluator/job_samples.h"
#include "tests/runtime/fleet/pretended_device.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

const DevicePlace kGood{.name = "a good one", .worker_command = {}};
const DevicePlace kAbsent{.name = "an absent one", .worker_command = {"/bin/false"}};

EvaluatorOptions options_of(std::vector<DevicePlace> places) {
  EvaluatorOptions options;
  options.device = DeviceKind::emulator;
  options.target = test::kTarget;
  options.pool = std::move(places);
  options.compile_workers = 1;
  options.cache_dir = testing::shared_build_cache();
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

TEST_CASE("a device whose worker does not start ends no run that has another") {
  CHECK(ends_on({kAbsent, kGood}, 2) == std::map<Status, int>{{Status::ok, 2}});
}

// ---- who joins

/// Polls until no worker is about to join.
void let_join(DevicePool& pool) {
  for (DeviceLine& line : pool.lines()) static_cast<void>(pool.ready(line));
  const auto joins = [](const DeviceLine& line) {
    return line.client.joining() || line.client.calibrating();
  };
  while (std::ranges::any_of(pool.lines(), joins)) {
    std::vector<pollfd> descriptors;
    pool.add_descriptors(descriptors);
    constexpr std::chrono::milliseconds kWait(testing::kPatience);
    REQUIRE(::poll(descriptors.data(), descriptors.size(), static_cast<int>(kWait.count())) > 0);
    pool.poll();
  }
}

/// A pool of GPUs that does not run anything.
struct JoinedPool {
  explicit JoinedPool(const std::vector<test::PretendedDevice>& devices, bool connect = false,
                      std::chrono::milliseconds calibration_interval = kCalibrationInterval)
      : options(options_of({})) {
    options.device = DeviceKind::cuda;
    options.calibration_interval = calibration_interval;
    for (const test::PretendedDevice& device : devices)
      options.pool.push_back(test::place_of(device, folder.path()));
    // The first one's model is the pool's.
    for (std::size_t i = 1; i < options.pool.size(); ++i) options.pool[i].connects = connect;
    pool = std::make_unique<DevicePool>(options);
    let_join(*pool);
  }
  testing::TemporaryFolder folder;
  EvaluatorOptions options;
  std::unique_ptr<DevicePool> pool;
};

TEST_CASE("a GPU of another model is left out, and one that is in the pool already until it may have left") {
  const JoinedPool joined({{.uuid = "GPU-1"},
                           {.uuid = "GPU-2", .models = {"NVIDIA H100"}},
                           {.uuid = "GPU-1"},
                           {.uuid = "GPU-3"}});
  const DevicePool& pool = *joined.pool;
  CHECK(pool.facts().uuid == "GPU-1");
  CHECK(pool.present() == 2);
  const auto& lines = pool.lines();
  CHECK(lines[1].breaker.has_left());
  CHECK(lines[1].breaker.state(steady_clock::now()) == BreakerState::open);
  CHECK_FALSE(lines[2].breaker.has_left());
  CHECK_FALSE(lines[2].client.has_process());
  CHECK(lines[2].breaker.rests_until() > steady_clock::time_point{});
  REQUIRE(lines[3].device);
  CHECK(pool.other_device(lines[3])->uuid == "GPU-3");
  CHECK(pool.other_device(lines[0]) == nullptr);
}

TEST_CASE("a pool whose first device does not answer begins with the next") {
  const JoinedPool joined({{.uuid = "GPU-1", .dies_at = {"describe"}}, {.uuid = "GPU-2"}, {.uuid = "GPU-3"}});
  CHECK(joined.pool->facts().uuid == "GPU-2");
  CHECK(joined.pool->other_device(joined.pool->lines()[1]) == nullptr);
  CHECK(joined.pool->other_device(joined.pool->lines()[2])->uuid == "GPU-3");
}

TEST_CASE("a first worker that is killed before it has said what it sees is started again") {
  const JoinedPool joined(
      {{.uuid = "GPU-1", .dies_at = {"1 describe", "2 calibrate"}, .exit_code = -SIGKILL}});
  CHECK(joined.pool->present() == 1);
  CHECK(test::events_of("GPU-1", joined.folder.path()).back() == "3 calibrate");
}

TEST_CASE("GPUs without a UUID are as many as their places") {
  const JoinedPool joined({{.uuid = "one", .has_uuid = false}, {.uuid = "two", .has_uuid = false}});
  const auto& lines = joined.pool->lines();
  CHECK(joined.pool->present() == 2);
  CHECK(joined.pool->other_device(lines[0]) == nullptr);
  CHECK(joined.pool->other_device(lines[1]) != nullptr);
}

/// A pool of a first GPU, of this machine's own GPU-2, and of a worker elsewhere that says it is at GPU-2.
struct PoolWithImpostor {
  explicit PoolWithImpostor(std::chrono::milliseconds calibration_interval = kCalibrationInterval)
      : options(options_of({test::place_of({.uuid = "GPU-1"}, folder.path()),
                            test::place_of({.uuid = "an impostor", .claims = "GPU-2"}, folder.path()),
                            {.name = "its own place", .worker_command = {}}})) {
    options.device = DeviceKind::cuda;
    options.calibration_interval = calibration_interval;
    // Its second process waits.
    const test::PretendedDevice own{.uuid = "GPU-2", .waits = {{"2 hello", folder / "go"}}};
    options.worker_command = test::place_of(own, folder.path()).worker_command;
    pool = std::make_unique<DevicePool>(options);
    impostor = &pool->lines()[1];
    own_place = &pool->lines()[2];
  }
  [[nodiscard]] bool join(DeviceLine& line) const {
    return testing::in_the_end([&] {
      if (line.device == nullptr) static_cast<void>(pool->ready(line));
      pool->poll();
      return line.device != nullptr || !line.trouble.empty();
    });
  }
  testing::TemporaryFolder folder;
  EvaluatorOptions options;
  std::unique_ptr<DevicePool> pool;
  DeviceLine *impostor = nullptr, *own_place = nullptr;
};

TEST_CASE("a worker elsewhere that says it is at a GPU of this machine has to go when that joins") {
  const PoolWithImpostor test;
  REQUIRE(test.join(*test.impostor));
  CHECK(test.pool->ready(*test.impostor));
  REQUIRE(test.join(*test.own_place));
  CHECK(test.own_place->device);
  CHECK_FALSE(test.pool->ready(*test.impostor));
  CHECK_FALSE(test.impostor->device);
  CHECK_THAT(test.impostor->trouble, Catch::Contains("the same GPU as its own place"));
  CHECK(test.pool->ready(*test.own_place));
}

TEST_CASE("while a GPU is calibrated again no worker elsewhere takes its place") {
  const PoolWithImpostor test(std::chrono::milliseconds(0));
  REQUIRE(test.join(*test.own_place));
  REQUIRE(test.own_place->device);
  CHECK_FALSE(test.pool->ready(*test.own_place));  // it is time again
  CHECK_FALSE(test.own_place->device);
  REQUIRE(test.join(*test.impostor));
  CHECK_FALSE(test.impostor->device);
  CHECK_THAT(test.impostor->trouble, Catch::Contains("the same GPU as its own place"));
  CHECK(test.pool->places()[2].device);  // it will be back
  write_file_atomically(test.folder / "go", "");
  REQUIRE(test.join(*test.own_place));
  CHECK(test.own_place->device);
}

TEST_CASE("a place for a worker that connects outlives one of another model") {
  const JoinedPool joined({{.uuid = "GPU-1"}, {.uuid = "GPU-2", .models = {"NVIDIA H100", "NVIDIA H200"}}},
                          true);
  DeviceLine& place = joined.pool->lines()[1];
  CHECK_FALSE(place.device);
  REQUIRE(testing::in_the_end([&] {
    joined.pool->poll();
    return joined.pool->ready(place);
  }));
  CHECK(place.device->uuid == "GPU-2");
}

TEST_CASE("a worker that is lost while it has nothing to do counts as a loss") {
  const JoinedPool joined({{.uuid = "GPU-1"}, {.uuid = "GPU-2", .dies_after = {"describe"}}});
  DeviceLine& line = joined.pool->lines()[1];
  CHECK(testing::in_the_end([&] {
    joined.pool->poll();
    static_cast<void>(joined.pool->ready(line));
    return line.breaker.rests_until() > steady_clock::time_point{};
  }));
}

/// What is printed to standard error meanwhile.
std::string printed_by(const std::filesystem::path& file, const std::function<void()>& work) {
  const FileDescriptor before(::dup(STDERR_FILENO));
  const FileDescriptor into(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  REQUIRE(::dup2(into.get(), STDERR_FILENO) == STDERR_FILENO);
  work();
  ::dup2(before.get(), STDERR_FILENO);
  return read_file(file);
}

TEST_CASE("what a launcher says is shown with its place, without escapes, and not without an end") {
  const testing::TemporaryFolder folder;
  const DevicePlace noisy{.name = "a noisy one",
                          .worker_command = {"/bin/sh", "-c", "yes '\x1b[31mnoise' >&2; exit 3"}};
  bool lost = false;
  const std::string printed = printed_by(folder / "printed", [&] {
    DevicePool pool(options_of({kGood, noisy}));
    DeviceLine& line = pool.lines()[1];
    lost = testing::in_the_end([&] {
      static_cast<void>(pool.ready(line));
      pool.poll();
      return !line.trouble.empty();
    });
  });
  CHECK(lost);
  CHECK_THAT(printed, !Catch::Contains("\x1b") && Catch::Contains("[31mnoise\n") &&
                          Catch::Contains("what else a noisy one says is not shown"));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = printed.find("a noisy one: ", at)) != std::string::npos; ++at) ++lines;
  CHECK(lines == 100);
}

TEST_CASE(
    "what those say who wait at one address for workers is shown once, however often they are replaced") {
  const testing::TemporaryFolder folder;
  DevicePlace waiting{.name = "a worker that connects",
                      .worker_command = {"/bin/sh", "-c", "echo 'note: turned away' >&2; exit 3"}};
  waiting.connects = true;
  const std::string printed = printed_by(folder / "printed", [&] {
    DevicePool pool(options_of({kGood, waiting, waiting}));
    auto& lines = pool.lines();
    CHECK(testing::in_the_end([&] {
      for (DeviceLine& line : lines) static_cast<void>(pool.ready(line));
      pool.poll();
      return lines[1].breaker.rests_until() > steady_clock::time_point{} &&
             lines[2].breaker.rests_until() > steady_clock::time_point{};
    }));
  });
  CHECK(printed.find("note: turned away\n") == printed.rfind("note: turned away\n"));
  CHECK_THAT(printed, Catch::Contains("note: turned away\n"));
}

TEST_CASE("a worker that greets and never says what it sees is given up") {
  const testing::TemporaryFolder folder;
  DevicePlace place = test::place_of({.uuid = "GPU-1", .is_silent_at = {"describe"}}, folder.path());
  DeviceClient client(place.worker_command);
  client.join(true);
  auto now = steady_clock::now();
  std::string why;
  bool said = false;
  CHECK(testing::in_the_end([&] {
    try {
      said = client.poll_joined(now += std::chrono::hours(1)).has_value();
    } catch (const Error& error) {
      why = error.what();
    }
    return said || !client.has_process();
  }));
  CHECK_FALSE(said);
  CHECK_THAT(why, Catch::Contains("did not answer"));
}

TEST_CASE("what decides runs on the first device, and on the next one when that rests") {
  const JoinedPool joined({{.uuid = "GPU-1"}, {.uuid = "GPU-2"}});
  DevicePool& pool = *joined.pool;
  auto& lines = pool.lines();
  CHECK(pool.decides(lines[0]));
  CHECK_FALSE(pool.decides(lines[1]));
  for (int i = 0; i < DeviceBreaker::kTolerated; ++i) pool.note_loss(lines[0], "fell off the bus");
  CHECK_FALSE(pool.ready(lines[0]));
  CHECK(pool.decides(lines[1]));
}

TEST_CASE("a place for a worker that connects does not rest until that has left") {
  DevicePlace place{.name = "a worker that connects", .worker_command = {"/bin/false"}};
  place.connects = true;
  DeviceLine line(place, place.worker_command, false);
  const auto now = steady_clock::now();
  for (int i = 0; i < 100; ++i) static_cast<void>(line.breaker.note_loss(now));
  CHECK(line.breaker.rests_until() < now + kControllerAbsence);
}

// ---- calibration

/// Whose devices are calibrated before every task, and have joined again.
struct JoinedTwice : JoinedPool {
  explicit JoinedTwice(const std::vector<test::PretendedDevice>& devices)
      : JoinedPool(devices, false, std::chrono::milliseconds(0)) {
    let_join(*pool);
  }
};

TEST_CASE("a device whose calibration drifts by more than a hundredth rests, and its times are not used") {
  const JoinedTwice joined(
      {{.uuid = "GPU-1", .compute_ns = {130e3, 131e3}}, {.uuid = "GPU-2", .compute_ns = {100e3, 102e3}}});
  const auto& lines = joined.pool->lines();
  CHECK(lines[0].device);
  CHECK_FALSE(lines[1].device);
  CHECK(lines[1].breaker.state(steady_clock::now()) == BreakerState::open);
  const auto calibrations = joined.pool->take_calibrations();
  const auto refused = std::ranges::find(
      calibrations, false, [](const CalibrationRecord& record) { return record.objection.empty(); });
  REQUIRE(refused != calibrations.end());
  CHECK(refused->device->uuid == "GPU-2");
  CHECK(refused->drift == Approx(0.02));
  const PoolPlace place = joined.pool->places()[1];
  CHECK(place.doing == "rests");
  CHECK_THAT(place.reason, Catch::Contains("drifted by 2.00 %: multiplications took 102.0 us"));
  CHECK(joined.pool->take_calibrations().empty());
}

TEST_CASE("a device that rested is calibrated again, and half open until it answers") {
  const JoinedTwice joined({{.uuid = "GPU-1"}, {.uuid = "GPU-2", .compute_ns = {100e3, 110e3, 100e3}}});
  DeviceLine& line = joined.pool->lines()[1];
  REQUIRE(line.breaker.state(steady_clock::now()) == BreakerState::open);
  CHECK(testing::in_the_end([&] {
    static_cast<void>(joined.pool->ready(line));
    joined.pool->poll();
    return line.device != nullptr;
  }));
  CHECK(line.breaker.state(steady_clock::now()) == BreakerState::half_open);
  joined.pool->note_answer(line);
  CHECK(line.breaker.state(steady_clock::now()) == BreakerState::closed);
}

TEST_CASE("an error of the memory since the first calibration opens the breaker, and one before does not") {
  const JoinedTwice joined(
      {{.uuid = "GPU-1", .memory_errors = {3}}, {.uuid = "GPU-2", .memory_errors = {0, 1}}});
  CHECK(joined.pool->lines()[0].device);
  CHECK_FALSE(joined.pool->lines()[1].device);
  CHECK_THAT(joined.pool->places()[1].reason, Catch::Contains("1 uncorrected errors"));
}

TEST_CASE("a GPU is calibrated when it joins, and not again before it is time") {
  const JoinedPool joined({{.uuid = "GPU-1"}, {.uuid = "GPU-2"}});
  let_join(*joined.pool);
  CHECK(joined.pool->take_calibrations().size() == 2);
}

TEST_CASE("every CPU device reads the same calibration, and one that reads another takes no part") {
  const testing::TemporaryFolder folder;
  EvaluatorOptions options =
      options_of({kGood, test::place_of({.uuid = "a liar", .compute_ns = {1e3}}, folder.path()), kGood});
  DevicePool pool(options);
  let_join(pool);
  CHECK(pool.lines()[0].device);
  CHECK_FALSE(pool.lines()[1].device);
  CHECK(pool.lines()[2].device);
  const auto calibrations = pool.take_calibrations();
  REQUIRE(calibrations.size() == 3);
  for (const CalibrationRecord& record : calibrations)
    CHECK((record.drift == 0) == (record.place != "a liar"));
}

TEST_CASE("GPUs without a UUID are told apart by their places") {
  DeviceCalibrations calibrations;
  DeviceFacts facts;
  facts.kind = DeviceKind::cuda;
  REQUIRE(facts.uuid.empty());
  const auto gpu = std::make_shared<const DeviceFacts>(facts);
  const auto now = steady_clock::now();
  for (const auto& [place, compute_ns] : {std::pair{"cuda:0", 100e3}, {"cuda:1", 110e3}}) {
    CHECK(calibrations.is_due(place, *gpu, now));
    CHECK(calibrations.judge(place, gpu, {.compute_ns = compute_ns, .copy_ns = 70e3}, now).objection.empty());
    CHECK_FALSE(calibrations.is_due(place, *gpu, now));
  }
}

TEST_CASE("a worker that does not say what a calibration takes is given up") {
  const testing::TemporaryFolder folder;
  DevicePlace place = test::place_of({.uuid = "GPU-1", .is_silent_at = {"calibrate"}}, folder.path());
  DeviceClient client(place.worker_command);
  client.join(true);
  REQUIRE(testing::in_the_end([&] { return client.poll_joined(steady_clock::now()).has_value(); }));
  client.ask_calibration({.arch = test::kTarget});
  CHECK_FALSE(client.poll_calibration(steady_clock::now()));
  CHECK_THROWS_WITH(client.poll_calibration(steady_clock::now() + std::chrono::hours(1)),
                    Catch::Contains("did not answer"));
  CHECK_FALSE(client.has_process());
}

// ---- who is to blame

TEST_CASE("a lost connection is not the candidate's fault, and any other end while it runs may be") {
  for (const int code : {1, kExitConnectionLost}) {
    const testing::TemporaryFolder folder;
    const DevicePlace place =
        test::place_of({.uuid = "GPU-1", .dies_at = {"evaluate"}, .exit_code = code}, folder.path());
    DeviceClient client(place.worker_command);
    client.open(std::make_shared<OpenProblem>());
    DeviceTask task{.image = {}, .seed = 0, .workloads = {}, .budget = {}};
    task.image.image = "machine code";
    const DeviceFinish finish = client.run(task, testing::out_of_patience());
    CHECK(finish.answer.outcome.status == Status::infrastructure_error);
    CHECK(finish.took_worker_down == (code == 1));
  }
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
  DeviceBreaker impatient(seconds(30));
  for (int i = 0; i < 100; ++i) static_cast<void>(impatient.note_loss(now));
  CHECK(impatient.rests_until() == now + seconds(30));
  breaker.note_answer();
  CHECK_FALSE(breaker.note_loss(now + seconds(1'000)));
  CHECK(breaker.lets_pass(now + seconds(1'000)));
}

}  // namespace
}  // namespace ak::runtime
