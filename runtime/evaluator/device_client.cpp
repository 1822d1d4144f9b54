// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_client.h"

#include <poll.h>

#include <csignal>

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
// Others wait for their turn meanwhile.
constexpr int kMessagesPerPoll = 64;
// One a call of a candidate or a reference, of which the longest tasks make some thousand (chosen).
constexpr int kMaxProgressMessages = 1'000'000;

}  // namespace

DeviceClient::DeviceClient(std::vector<std::string> argv, bool watched, const ChildErrors* errors)
    : argv_(std::move(argv)), watched_(watched), errors_(errors), clock_(watched) {}

DeviceClient::~DeviceClient() { end_process(); }

void DeviceClient::start_process() {
  process_ = std::make_unique<WorkerProcess>(argv_, kHeartbeatInterval, errors_);
  opened_ = confined_ = used_ = had_candidate_ = false;
}

void DeviceClient::ensure_process() {
  if (process_) return;
  for (int attempt = 1;; ++attempt) {
    start_process();
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
  return ask_again_if_killed([this] {
    const std::uint64_t id = send("describe", Json::object());
    return take_devices(process_->receive(steady_clock::now() + kDescribeLimit), id);
  });
}

/// What somebody else killed says nothing about the device.
template <class Ask>
auto DeviceClient::ask_again_if_killed(Ask ask) -> decltype(ask()) {
  for (int attempt = 1;; ++attempt) {
    try {
      was_killed_ = false;
      ensure_process();
      return ask();
    } catch (const Error&) {
      if (!was_killed_ || attempt == kStartAttempts) throw;
    }
  }
}

std::vector<DeviceFacts> DeviceClient::take_devices(const WorkerReply& reply, std::uint64_t id) {
  return take_reply(reply, id, "devices", read_devices);
}

/// What was asked between tasks. Throws Error(environment) where it is not there; the process is gone then.
template <class Value>
Value DeviceClient::take_reply(const WorkerReply& reply, std::uint64_t id, std::string_view type,
                               Result<Value> (*read)(const Json&)) {
  std::string why = "the device worker did not answer";
  if (const auto* message = std::get_if<WorkerMessage>(&reply)) {
    auto value = read(message->body);
    if (message->id == id && message->type == type && value) return std::move(value).value();
    if (message->type != type)
      why = reason_in(message->body);
    else
      why = "the device worker broke the protocol: " +
            (value ? "an answer to another request" : value.error().message);
  }
  if (const auto* lost = std::get_if<WorkerLost>(&reply)) {
    why = fmt::format("the device worker {}", lost->reason);
    was_killed_ = lost->signal == SIGKILL;
  }
  drop_process();
  fail(ExitCode::environment, "{}", why);
}

void DeviceClient::join(bool describe) {
  AK_ASSERT(!busy() && !joining_, "a worker joins once, between tasks");
  if (!process_) start_process();
  joining_ = true;
  greeted_ = false;
  described_id_ = describe ? send("describe", Json::object()) : 0;
}

std::optional<std::vector<DeviceFacts>> DeviceClient::poll_joined(TimePoint now) {
  AK_ASSERT(joining_, "what was asked is answered");
  if (!greeted_) {
    const auto hello = process_->poll_hello();
    if (!hello) return std::nullopt;
    if (!*hello) {
      drop_process();
      fail(ExitCode::environment, "{}", hello->error().message);
    }
    greeted_ = true;
    greeting_ = hello->value();
    described_by_ = now + kDescribeLimit;
  }
  if (described_id_ == 0) {
    joining_ = false;
    return std::vector<DeviceFacts>{};
  }
  const WorkerReply reply = process_->receive(steady_clock::now());
  if (std::holds_alternative<WorkerTimeout>(reply) && now < described_by_) return std::nullopt;
  joining_ = false;
  return take_devices(reply, described_id_);
}

void DeviceClient::ask_calibration(const CalibrationTask& task) {
  AK_ASSERT(process_ && !busy() && !joining_ && !calibrating(), "a device is calibrated between tasks");
  const auto now = steady_clock::now();
  calibration_by_ = now + kDescribeLimit;
  calibration_end_ = now + kLongestWait;
  calibration_id_ = send("calibrate", to_json(task));
}

/// It waits for its turn on a GPU, or has not answered yet.
bool DeviceClient::goes_on_waiting(const WorkerReply& reply, TimePoint now) {
  if (std::holds_alternative<WorkerTimeout>(reply)) return now < calibration_by_;
  const auto* message = std::get_if<WorkerMessage>(&reply);
  if (message == nullptr || message->type != "progress" || message->id != calibration_id_) return false;
  calibration_by_ = std::min(now + kDescribeLimit, calibration_end_);
  return now < calibration_by_;
}

std::optional<Calibration> DeviceClient::poll_calibration(TimePoint now) {
  AK_ASSERT(calibrating(), "what was asked is answered");
  const WorkerReply reply = process_->receive(steady_clock::now());
  if (goes_on_waiting(reply, now)) return std::nullopt;
  return take_reply(reply, std::exchange(calibration_id_, 0), "calibrated", read_calibration);
}

Calibration DeviceClient::calibrate(const CalibrationTask& task) {
  return ask_again_if_killed([&] {
    ask_calibration(task);
    for (;;) {
      if (auto calibration = poll_calibration(steady_clock::now())) return *calibration;
      await_readable();
    }
  });
}

void DeviceClient::await_readable() const {
  pollfd readable{.fd = descriptor(), .events = POLLIN, .revents = 0};
  static_cast<void>(::poll(&readable, 1, kPollMs));
}

std::optional<std::string> DeviceClient::drop_if_lost() {
  if (!process_ || busy() || joining_ || calibrating()) return std::nullopt;
  const WorkerReply reply = process_->receive(steady_clock::now());
  if (std::holds_alternative<WorkerTimeout>(reply)) return std::nullopt;
  drop_process();
  const auto* lost = std::get_if<WorkerLost>(&reply);
  return "the device worker " + (lost != nullptr ? lost->reason : "said what it was not asked");
}

void DeviceClient::open(std::shared_ptr<const OpenProblem> problem) {
  if (problem_ == problem) return;
  AK_ASSERT(!busy(), "problems are opened between tasks");
  problem_ = std::move(problem);
  opened_ = false;
  // The interpreter of a reference is started before the process is confined.
  if (confined_ && problem_->python) end_process();
}

void DeviceClient::start(const DeviceTask& task, TimePoint deadline) {
  AK_ASSERT(!busy() && problem_ != nullptr, "one task at a time, of an open problem");
  ensure_process();
  prints_.clear();
  const bool opening = !opened_;
  if (opening) open_id_ = send("open", to_json(*problem_));
  opened_ = confined_ = true;
  had_candidate_ = had_candidate_ || !task.image.image.empty();
  asked_.emplace(task, *problem_);
  begin(send("evaluate", to_json(task)), deadline, opening);
}

void DeviceClient::queue(const DeviceTask& task, std::chrono::milliseconds limit) {
  AK_ASSERT(can_queue(), "one task is sent ahead at a time");
  queued_limit_ = limit;
  queued_asked_.emplace(task, *problem_);
  had_candidate_ = had_candidate_ || !task.image.image.empty();
  queued_id_ = send("evaluate", to_json(task));
}

void DeviceClient::begin(std::uint64_t task, TimePoint deadline, bool opening) {
  task_id_ = task;
  progress_messages_ = 0;
  // Only a GPU is shared with other processes.
  const auto longest_wait = problem_->device == DeviceKind::cuda ? kLongestWait : kLongestWait.zero();
  clock_.begin(steady_clock::now(), deadline, opening, longest_wait);
}

void DeviceClient::end_process() {
  if (process_ && watched_) process_->finish(kShutdownGrace);
  drop_process();
}

// A task sent ahead is lost with its process.
void DeviceClient::drop_process() {
  process_.reset();
  joining_ = false;
  open_id_ = queued_id_ = calibration_id_ = 0;
}

std::optional<DeviceFinish> DeviceClient::poll() {
  for (int i = 0; busy() && i < kMessagesPerPoll; ++i) {
    const WorkerReply reply = process_->receive(steady_clock::now());
    if (const auto* lost = std::get_if<WorkerLost>(&reply)) return lose(*lost);
    if (std::holds_alternative<WorkerTimeout>(reply)) return expire();
    if (auto finished = take(std::get<WorkerMessage>(reply))) return finished;
    if (auto late = expire()) return late;  // however much it says
  }
  return std::nullopt;
}

void DeviceClient::keep_prints(const std::string& prints) {
  prints_ += prints;
  if (prints_.size() > kPrintLimit) prints_.erase(0, prints_.size() - kPrintLimit);
}

std::optional<DeviceFinish> DeviceClient::take(const WorkerMessage& message) {
  keep_prints(message.prints);
  if (open_id_ != 0) return take_opened(message);
  if (message.id != task_id_) return break_off("it answered what it was not asked");
  if (message.type == "progress") return take_progress(message);
  return take_answer(message);
}

std::optional<DeviceFinish> DeviceClient::take_opened(const WorkerMessage& message) {
  if (message.id != open_id_) return break_off("it answered before it had opened the problem");
  if (message.type == "progress") return take_progress(message);
  if (message.type != "opened") return refuse_open(message.body);
  open_id_ = 0;
  lost_while_opening_ = 0;
  clock_.note_opened(steady_clock::now());
  return std::nullopt;
}

std::optional<DeviceFinish> DeviceClient::take_progress(const WorkerMessage& message) {
  const auto progress = read_progress(message.body);
  if (!progress) return break_off(progress.error().message);
  if (++progress_messages_ > kMaxProgressMessages) return break_off("it sends progress without end");
  clock_.note_progress(*progress, steady_clock::now());
  return std::nullopt;
}

DeviceFinish DeviceClient::take_answer(const WorkerMessage& message) {
  if (message.type == "failed") {
    const std::string why = reason_in(message.body);
    drop_process();
    return finish(Status::infrastructure_error, fmt::format("the device worker failed: {}", why));
  }
  if (message.type != "evaluated") return break_off("it answered a task with another message");
  auto answer = asked_->read(message.body);
  if (!answer) return break_off(answer.error().message);
  const bool lost = answer->lost, blamed = lost && answer->device_fault.empty();
  if (lost) end_process();
  DeviceFinish finished = finish(std::move(answer).value());
  finished.took_worker_down = blamed;
  return finished;
}

/// What a worker says that has run candidates ends no run: a new one is asked.
DeviceFinish DeviceClient::refuse_open(const Json& body) {
  const bool believed = !used_;
  drop_process();
  const std::string message =
      fmt::format("opening problem {} on the device: {}", problem_->problem, reason_in(body));
  if (!believed) return finish(Status::infrastructure_error, message);
  task_id_ = 0;
  // Of a reference that is no kernel the worker is the first to read what the user wrote.
  const bool users =
      problem_->python && body.value("code", Json()) == Json(static_cast<int>(ExitCode::bad_input));
  fail(users ? ExitCode::bad_input : ExitCode::environment, "{}", message);
}

DeviceFinish DeviceClient::break_off(const std::string& breach) {
  return lose({.reason = "broke the protocol: " + breach, .broke_protocol = true});
}

std::optional<DeviceFinish> DeviceClient::expire() {
  const auto now = steady_clock::now();
  const bool silent = clock_.silent_too_long(now) && gate_enabled(Gate::hang_watchdog);
  if (!silent && !clock_.past_deadline(now)) return std::nullopt;
  drop_process();
  if (clock_.past_deadline(now) && clock_.waiting())
    return finish(Status::infrastructure_error,
                  fmt::format("the device worker waited for other processes for too long: {} min are allowed",
                              kLongestWait.count()));
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
  const bool used = used_;
  drop_process();
  if (lost.exit_code == kExitOutOfMemory && !clock_.opening())
    return finish(
        Status::out_of_memory,
        fmt::format("the device worker passed its {} GiB of host memory during: {}; it was restarted",
                    kDeviceWorkerBytes >> 30, clock_.what()));
  if (clock_.opening() && !used && ++lost_while_opening_ >= kOpenAttempts) {
    task_id_ = 0;
    fail(ExitCode::environment, "the device worker {} while opening problem {}, {} times in a row",
         lost.reason, problem_->problem, kOpenAttempts);
  }
  const bool began = !clock_.opening();
  DeviceFinish finished =
      finish(Status::infrastructure_error,
             fmt::format("the device worker {} ({}: {})", lost.reason, clock_.activity(), clock_.what()));
  if (lost.broke_protocol) finished.took_worker_down = began;
  if (lost.exit_code == kExitConnectionLost) finished.took_worker_down = false;
  return finished;
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
  used_ = true;
  clock_.stop();
  asked_ = std::exchange(queued_asked_, std::nullopt);
  if (const std::uint64_t next = std::exchange(queued_id_, 0); next != 0)
    begin(next, steady_clock::now() + queued_limit_, false);
  return {.answer = std::move(answer), .prints = std::exchange(prints_, {})};
}

DeviceFinish DeviceClient::run(const DeviceTask& task, TimePoint deadline) {
  start(task, deadline);
  for (;;) {
    if (auto finished = poll()) return std::move(*finished);
    await_readable();
  }
}

void DeviceClient::abandon() {
  drop_process();
  task_id_ = 0;
  clock_.stop();
}

}  // namespace ak::runtime
