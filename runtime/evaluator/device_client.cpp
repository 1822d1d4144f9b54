// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_client.h"

#include <poll.h>

#include "runtime/worker/device_worker.h"

namespace ak::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A launcher may wait for its queue (srun); a process alone starts in milliseconds.
constexpr milliseconds kHelloLimit{120'000};
// To describe the devices: as long as a task's first silence may be (device_task_clock.cpp).
constexpr milliseconds kDescribeLimit{60'000};
// One that is killed meanwhile is started again; what ends three times does not end by chance.
constexpr int kStartAttempts = 3, kOpenAttempts = 3;
// What watches a worker writes its report after the worker's end (chosen).
constexpr milliseconds kShutdownGrace{20'000};
constexpr int kPollMs = 1'000;  // how late a deadline of the blocking run() may be noticed
constexpr std::size_t kPrintLimit = 64u << 10;

}  // namespace

DeviceClient::DeviceClient(std::vector<std::string> argv, bool watched)
    : argv_(std::move(argv)), watched_(watched), clock_(watched) {}

DeviceClient::~DeviceClient() { end_process(); }

void DeviceClient::ensure_process() {
  if (process_) return;
  for (int attempt = 1;; ++attempt) {
    process_ = std::make_unique<WorkerProcess>(argv_);
    opened_ = false;
    const auto deadline = steady_clock::now() + kHelloLimit;
    const auto hello = process_->await_hello(deadline);
    if (hello) return;
    process_.reset();
    if (attempt < kStartAttempts && steady_clock::now() < deadline) continue;
    fail(ExitCode::environment, "starting the device worker '{}': {}", fmt::join(argv_, " "),
         hello.error().message);
  }
}

std::uint64_t DeviceClient::send(std::string type, Json body) {
  process_->send({.id = ++last_id_, .type = std::move(type), .body = std::move(body), .prints = {}});
  return last_id_;
}

std::vector<DeviceFacts> DeviceClient::describe() {
  AK_ASSERT(!busy(), "devices are described between tasks");
  ensure_process();
  const std::uint64_t id = send("describe", Json::object());
  const auto deadline = steady_clock::now() + kDescribeLimit;
  for (;;) {
    const WorkerReply reply = process_->receive(deadline);
    const auto* message = std::get_if<WorkerMessage>(&reply);
    if (message != nullptr && message->id != id) continue;
    if (message != nullptr && message->type == "devices") {
      std::vector<DeviceFacts> devices;
      for (const Json& facts : message->body.at("devices")) devices.push_back(device_facts_from_json(facts));
      return devices;
    }
    std::string why = "the device worker did not answer";
    if (message != nullptr) why = message->body.value("message", "the device worker gave no reason");
    if (const auto* lost = std::get_if<WorkerLost>(&reply))
      why = fmt::format("the device worker {}", lost->reason);
    drop_process();
    fail(ExitCode::environment, "{}", why);
  }
}

void DeviceClient::open(std::shared_ptr<const OpenProblem> problem) {
  if (problem_ == problem) return;
  AK_ASSERT(!busy(), "problems are opened between tasks");
  problem_ = std::move(problem);
  opened_ = false;
}

void DeviceClient::start(const DeviceTask& task, TimePoint deadline) {
  AK_ASSERT(!busy() && problem_ != nullptr, "one task at a time, of an open problem");
  ensure_process();
  prints_.clear();
  const bool opening = !opened_;
  if (opening) open_id_ = send("open", to_json(*problem_));
  opened_ = true;
  begin(send("evaluate", to_json(task)), deadline, opening);
}

void DeviceClient::queue(const DeviceTask& task, std::chrono::milliseconds limit) {
  AK_ASSERT(can_queue(), "one task is sent ahead at a time");
  queued_limit_ = limit;
  queued_id_ = send("evaluate", to_json(task));
}

void DeviceClient::begin(std::uint64_t task, TimePoint deadline, bool opening) {
  task_id_ = task;
  clock_.begin(steady_clock::now(), deadline, opening);
}

void DeviceClient::end_process() {
  if (process_ && watched_) process_->finish(kShutdownGrace);
  drop_process();
}

// A task sent ahead is lost with its process.
void DeviceClient::drop_process() {
  process_.reset();
  queued_id_ = 0;
}

std::optional<DeviceFinish> DeviceClient::poll() {
  while (busy()) {
    const WorkerReply reply = process_->receive(steady_clock::now());
    if (const auto* lost = std::get_if<WorkerLost>(&reply)) return lose(*lost);
    if (std::holds_alternative<WorkerTimeout>(reply)) return expire();
    if (auto finished = take(std::get<WorkerMessage>(reply))) return finished;
  }
  return std::nullopt;
}

std::optional<DeviceFinish> DeviceClient::take(const WorkerMessage& message) {
  prints_ += message.prints;
  if (prints_.size() > kPrintLimit) prints_.erase(0, prints_.size() - kPrintLimit);
  if (message.id == open_id_) {
    if (message.type != "opened") refuse_open(message);
    lost_while_opening_ = 0;
    clock_.note_opened(steady_clock::now());
    return std::nullopt;
  }
  if (message.id != task_id_) return std::nullopt;  // of a task that was given up
  if (message.type == "progress") {
    clock_.note_progress(message.body, steady_clock::now());
    return std::nullopt;
  }
  if (message.type != "evaluated") {
    const std::string why = message.body.value("message", "no reason given");
    drop_process();
    return finish(Status::infrastructure_error, fmt::format("the device worker failed: {}", why));
  }
  DeviceAnswer answer = device_answer_from_json(message.body);
  const bool lost = answer.lost;
  if (lost) end_process();
  DeviceFinish finished = finish(std::move(answer));
  finished.took_worker_down = lost;
  return finished;
}

void DeviceClient::refuse_open(const WorkerMessage& message) {
  const std::string why = message.body.value("message", "no reason given");
  task_id_ = 0;
  drop_process();
  fail(ExitCode::environment, "opening problem {} on the device: {}", problem_->problem, why);
}

std::optional<DeviceFinish> DeviceClient::expire() {
  const auto now = steady_clock::now();
  const bool silent = clock_.silent_too_long(now) && gate_enabled(Gate::hang_watchdog);
  if (!silent && !clock_.past_deadline(now)) return std::nullopt;
  drop_process();
  if (clock_.past_deadline(now))
    return finish(Status::timeout, fmt::format("the evaluation did not end within {:.1f} s; it was in: {}",
                                               clock_.elapsed_ms(now) / 1e3, clock_.what()));
  if (clock_.in_candidate())
    return finish(Status::hang,
                  fmt::format("{} did not finish within {:.1f} s; the device worker was restarted",
                              clock_.what(), clock_.limit_ms() / 1e3));
  return finish(Status::infrastructure_error,
                fmt::format("the device worker gave no sign of life for {:.0f} s ({})",
                            clock_.limit_ms() / 1e3, clock_.what()));
}

DeviceFinish DeviceClient::lose(const WorkerLost& lost) {
  drop_process();
  if (lost.exit_code == kExitOutOfMemory && !clock_.opening())
    return finish(
        Status::out_of_memory,
        fmt::format("the device worker passed its {} GiB of host memory during: {}; it was restarted",
                    kDeviceWorkerBytes >> 30, clock_.what()));
  if (clock_.opening() && ++lost_while_opening_ >= kOpenAttempts) {
    task_id_ = 0;
    fail(ExitCode::environment, "the device worker {} while opening problem {}, {} times in a row",
         lost.reason, problem_->problem, kOpenAttempts);
  }
  return finish(Status::infrastructure_error,
                fmt::format("the device worker {} ({}: {})", lost.reason, clock_.activity(), clock_.what()));
}

DeviceFinish DeviceClient::finish(Status status, std::string message) {
  const bool in_candidate = clock_.in_candidate();
  DeviceAnswer answer;
  answer.outcome = {
      .status = status, .stage = StageId::check, .message = std::move(message), .diagnostics = {}};
  if (status == Status::hang || status == Status::timeout) answer.outcome.gate = Gate::hang_watchdog;
  if (status == Status::out_of_memory) answer.outcome.gate = Gate::resources;
  answer.busy_ms = clock_.elapsed_ms(steady_clock::now());
  DeviceFinish finished = finish(std::move(answer));
  finished.took_worker_down = in_candidate;
  return finished;
}

DeviceFinish DeviceClient::finish(DeviceAnswer answer) {
  task_id_ = 0;
  clock_.stop();
  if (const std::uint64_t next = std::exchange(queued_id_, 0); next != 0)
    begin(next, steady_clock::now() + queued_limit_, false);
  return {.answer = std::move(answer), .prints = std::exchange(prints_, {})};
}

DeviceFinish DeviceClient::run(const DeviceTask& task, TimePoint deadline) {
  start(task, deadline);
  for (;;) {
    if (auto finished = poll()) return std::move(*finished);
    pollfd readable{.fd = descriptor(), .events = POLLIN, .revents = 0};
    static_cast<void>(::poll(&readable, 1, kPollMs));
  }
}

void DeviceClient::abandon() {
  drop_process();
  task_id_ = 0;
  clock_.stop();
}

}  // namespace ak::runtime
