// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_schedule.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/build/candidate_plan.h"

namespace ak::runtime {
namespace {

std::vector<std::string> device_command(const EvaluatorOptions& options) {
  std::vector<std::string> command = options.launcher;
  command.insert(command.end(), options.worker_command.begin(), options.worker_command.end());
  command.insert(command.end(), {"--role", options.watched ? "watched_device" : "device"});
  return command;
}

void mark_started(EvaluationJob& job) {
  job.started = std::chrono::steady_clock::now();
  job.result.stage_times.device_wait_ms =
      std::chrono::duration<double, std::milli>(job.started - job.built).count();
}

DeviceFacts facts_without_gpu(const EvaluatorOptions& options) {
  return options.device == DeviceKind::emulator ? emulated_device_facts(options.target)
                                                : nominal_device(options.target);
}

}  // namespace

DeviceSchedule::DeviceSchedule(const EvaluatorOptions& options, ProblemHistories& histories,
                               EndWithoutRun end_without_run)
    : options_(options),
      histories_(histories),
      end_without_run_(std::move(end_without_run)),
      facts_(facts_without_gpu(options)),
      tasks_(options.device, facts_) {
  if (options_.device == DeviceKind::cuda) open_gpu();
  if (options_.device == DeviceKind::emulator) {
    for (int i = 0; i < std::min(emulator_count(), options_.max_emulators); ++i)
      lines_.emplace_back(device_command(options_), options_.watched);
  }
  environment_ = device_environment(facts_, options_.target);
}

void DeviceSchedule::open_gpu() {
  const auto found_devices =
      lines_.emplace_back(device_command(options_), options_.watched).client.describe();
  const auto found = std::ranges::find(found_devices, options_.ordinal, &DeviceFacts::ordinal);
  if (found == found_devices.end())
    fail(ExitCode::usage, "there is no CUDA device {}: the driver reports {}", options_.ordinal,
         found_devices.size());
  facts_ = *found;
  tasks_ = DeviceTasks(options_.device, facts_);
}

// ---- which job is next

EvaluationJob* DeviceSchedule::next_job() const {
  return waiting_.next(
      [&](const EvaluationJob& job) { return job.problem->ready() && !same_program_runs(job); });
}

// Its results will serve for this one, too.
bool DeviceSchedule::same_program_runs(const EvaluationJob& job) const {
  const auto is_same = [&](const EvaluationJob* other) {
    return other != nullptr && other->result.program == job.result.program && !other->asks_its_own();
  };
  return !job.asks_its_own() && std::ranges::any_of(lines_, [&](const Line& line) {
    return is_same(line.running) || is_same(line.queued);
  });
}

void DeviceSchedule::feed() {
  for (Line& line : lines_) feed(line);
}

void DeviceSchedule::feed(Line& line) {
  if (line.client.busy()) {
    // With several devices the task had better wait for the first that is free.
    if (lines_.size() == 1) queue_on(line);
    return;
  }
  requeue_lost_task(line);
  while (EvaluationJob* job = next_job()) {
    if (end_without_run_(*job)) continue;
    if (job->request.fresh_process) start_fresh_process(line, *job);
    line.opened = open_problem(*job);
    line.client.open(line.opened);
    return wants_baseline(*job) ? start_baseline(line, *job) : start(line, *job);
  }
}

// The task after the running one is sent ahead, so that the device does not wait for messages in between.
void DeviceSchedule::queue_on(Line& line) {
  if (line.queued != nullptr || line.running == nullptr || !line.client.can_queue()) return;
  EvaluationJob* job = next_job();
  while (job != nullptr && end_without_run_(*job)) job = next_job();
  // Another problem is opened, and another process started, between tasks.
  if (job == nullptr || job->request.fresh_process || open_problem(*job) != line.opened) return;
  line.queued = job;
  waiting_.remove(*job);
  line.client.queue(tasks_.evaluation(*job, history(*job)), tasks_.time_limit(*job));
}

void DeviceSchedule::requeue_lost_task(Line& line) {
  if (EvaluationJob* lost = std::exchange(line.queued, nullptr)) waiting_.add_first(*lost);
}

// Its baselines are timed again alongside it.
void DeviceSchedule::start_fresh_process(Line& line, EvaluationJob& job) {
  if (std::exchange(job.in_fresh_process, true)) return;
  line.client.abandon();
  history(job).set_baseline_timed(false);
}

// ---- tasks

bool DeviceSchedule::wants_baseline(const EvaluationJob& job) const {
  return options_.time_baseline && job.request.depth == Depth::time && !job.request.profile &&
         !history(job).baseline_timed();
}

// The job that it goes before keeps waiting.
void DeviceSchedule::start_baseline(Line& line, const EvaluationJob& job) {
  line.baseline_of = &history(job);
  line.baseline_of->set_baseline_timed(true);
  line.client.start(tasks_.baseline(job), std::chrono::steady_clock::now() + tasks_.time_limit(job));
}

void DeviceSchedule::start(Line& line, EvaluationJob& job) {
  mark_started(job);
  line.running = &job;
  waiting_.remove(job);
  line.client.start(tasks_.evaluation(job, history(job)), job.started + tasks_.time_limit(job));
}

std::optional<DeviceSchedule::Finished> DeviceSchedule::poll() {
  for (Line& line : lines_) {
    if (!line.client.busy()) continue;
    auto ended = line.client.poll();
    if (!ended) continue;
    if (auto finished = take(line, std::move(*ended))) return finished;
  }
  return std::nullopt;
}

std::optional<DeviceSchedule::Finished> DeviceSchedule::take(Line& line, DeviceFinish finish) {
  if (line.baseline_of != nullptr) {
    std::exchange(line.baseline_of, nullptr)->keep_baselines(std::move(finish.answer));
    return std::nullopt;
  }
  EvaluationJob* ended = std::exchange(line.running, nullptr);
  if (line.queued != nullptr && line.client.busy()) {
    line.running = std::exchange(line.queued, nullptr);
    mark_started(*line.running);
  }
  if (ended == nullptr) return std::nullopt;  // cancelled
  return Finished{.job = ended, .finish = std::move(finish)};
}

void DeviceSchedule::cancel(const EvaluationJob& job) {
  waiting_.remove(job);
  for (Line& line : lines_) {
    if (line.running != &job && line.queued != &job) continue;
    // The worker goes with it; whichever of the two tasks was not meant starts again.
    line.client.abandon();
    for (EvaluationJob* other : {std::exchange(line.queued, nullptr), std::exchange(line.running, nullptr)})
      if (other != nullptr && other != &job) waiting_.add_first(*other);
  }
}

// ---- waiting

void DeviceSchedule::add_descriptors(std::vector<pollfd>& descriptors) const {
  for (const Line& line : lines_)
    if (line.client.busy())
      descriptors.push_back({.fd = line.client.descriptor(), .events = POLLIN, .revents = 0});
}

DeviceSchedule::TimePoint DeviceSchedule::wake_up() const {
  TimePoint first = TimePoint::max();
  for (const Line& line : lines_)
    if (line.client.busy()) first = std::min(first, line.client.wake_up());
  return first;
}

}  // namespace ak::runtime
