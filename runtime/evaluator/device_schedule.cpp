// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/build/candidate_plan.h"

namespace ak::runtime {
namespace {

// Where a machine or a job ends, its workers are lost one after the other, and who runs the search is told to stop, in no
// order. What two of them were lost with is no fault then, and no row: so long the stop may follow (chosen; Slurm takes a
// second for the processes of a job).
constexpr std::chrono::seconds kAfterLoss(3);

Outcome infrastructure_error(std::string why) {
  return {.status = Status::infrastructure_error,
          .stage = StageId::check,
          .message = std::move(why),
          .diagnostics = {}};
}

void mark_started(EvaluationJob& job) {
  job.started = std::chrono::steady_clock::now();
  job.result.stage_times.device_wait_ms =
      std::chrono::duration<double, std::milli>(job.started - job.built).count();
}

}  // namespace

DeviceSchedule::DeviceSchedule(const EvaluatorOptions& options, ProblemHistories& histories,
                               EndWithoutRun end_without_run)
    : options_(options),
      histories_(histories),
      end_without_run_(std::move(end_without_run)),
      pool_(options),
      environment_(device_environment(pool_.facts(), options.target)),
      tasks_(options.device, pool_.facts()) {}

// ---- which job is next

EvaluationJob* DeviceSchedule::next_job(const DeviceLine& line) const {
  return waiting_.next([&](const EvaluationJob& job) { return may_run(job, line); });
}

bool DeviceSchedule::may_run(const EvaluationJob& job, const DeviceLine& line) const {
  if (!job.problem->ready() || same_program_runs(job)) return false;
  if (is_kept_elsewhere(job, line)) return false;
  if (!job.request.place.empty()) return job.request.place == line.place.name;
  if (job.asks_its_own()) return pool_.decides(line);
  return job.lost_on != &line || !pool_.has_other(line);
}

// A device that starts a process for the job has a claim on it, unless that lasts too long; so has one that times its
// baselines, which belong to its result.
bool DeviceSchedule::is_kept_elsewhere(const EvaluationJob& job, const DeviceLine& line) const {
  return std::ranges::any_of(pool_.lines(), [&](const DeviceLine& other) {
    return &other != &line &&
           (other.baseline_before == &job || (other.fresh_for == &job && pool_.awaited(other)));
  });
}

// Its results will serve for this one, too.
bool DeviceSchedule::same_program_runs(const EvaluationJob& job) const {
  const auto is_same = [&](const EvaluationJob* other) {
    return other != nullptr && other->result.program == job.result.program && !other->asks_its_own();
  };
  return !job.asks_its_own() && std::ranges::any_of(pool_.lines(), [&](const DeviceLine& line) {
    return is_same(line.running) || is_same(line.queued);
  });
}

bool DeviceSchedule::has_place(const std::string& name) const {
  return std::ranges::any_of(pool_.lines(), [&](const DeviceLine& line) { return line.place.name == name; });
}

void DeviceSchedule::feed() {
  give_up_on_absent_places();
  for (DeviceLine& line : pool_.lines()) feed(line);
}

// No other device can take its task, and who asked may ask at another place.
void DeviceSchedule::give_up_on_absent_places() {
  const auto is_absent = [&](const EvaluationJob& job) {
    return !job.request.place.empty() && std::ranges::none_of(pool_.lines(), [&](const DeviceLine& line) {
      return line.place.name == job.request.place && pool_.awaited(line);
    });
  };
  while (EvaluationJob* job = waiting_.next(is_absent)) {
    waiting_.remove(*job);
    give_up(*job, infrastructure_error(fmt::format("the device of {} has gone", job->request.place)),
            std::chrono::steady_clock::now());
  }
}

void DeviceSchedule::feed(DeviceLine& line) {
  if (line.client.busy()) {
    // With several devices the task had better wait for the first that is free.
    if (pool_.lines().size() == 1 && !pool_.calibration_is_due(line)) queue_on(line);
    return;
  }
  requeue_lost_task(line);
  if (!pool_.ready(line)) return;
  try {
    run_next(line);
  } catch (const Error& error) {
    survive(line, error);
  }
}

void DeviceSchedule::run_next(DeviceLine& line) {
  while (EvaluationJob* job = next_job(line)) {
    if (end_without_run_(*job)) continue;
    if (job->request.fresh_process) ask_for_fresh_process(line, *job);
    line.opened = open_problem(*job, line);
    line.client.open(line.opened);
    // A new worker may have to wait for its turn elsewhere, and joins again meanwhile.
    if (pool_.pooled() && !line.client.has_process()) return static_cast<void>(pool_.ready(line));
    return wants_baseline(*job, line) ? start_baseline(line, *job) : start(line, *job);
  }
}

// The task after the running one is sent ahead, so that the device does not wait for messages in between.
void DeviceSchedule::queue_on(DeviceLine& line) {
  if (line.queued != nullptr || line.running == nullptr || !line.client.can_queue()) return;
  EvaluationJob* job = next_job(line);
  while (job != nullptr && end_without_run_(*job)) job = next_job(line);
  // Another problem is opened, and another process started, between tasks.
  if (job == nullptr || job->request.fresh_process || open_problem(*job, line) != line.opened) return;
  line.queued = job;
  waiting_.remove(*job);
  line.client.queue(tasks_.evaluation(*job, history(*job)), tasks_.time_limit(*job));
}

void DeviceSchedule::requeue_lost_task(DeviceLine& line) {
  if (EvaluationJob* lost = std::exchange(line.queued, nullptr)) waiting_.add_first(*lost);
}

/// In the handler of an error: where it may be this device's alone, what the device held goes to another, once; the job
/// ends that two devices have failed with. Else the error goes on.
void DeviceSchedule::survive(DeviceLine& line, const Error& error) {
  const bool lost_before = line.running != nullptr && line.running->lost_on != nullptr;
  if (error.code() != ExitCode::environment || !pool_.pooled() || !(lost_before || pool_.has_other(line)))
    throw;
  line.baseline_before = nullptr;
  if (line.baseline_of != nullptr) std::exchange(line.baseline_of, nullptr)->set_baseline_timed(false);
  if (EvaluationJob* job = std::exchange(line.running, nullptr)) {
    if (lost_before) {
      give_up(*job, infrastructure_error(error.what()), std::chrono::steady_clock::now() + kAfterLoss);
    } else {
      job->lost_on = &line;
      waiting_.add_first(*job);
    }
  }
  pool_.note_loss(line, error.what());
}

void DeviceSchedule::give_up(EvaluationJob& job, Outcome outcome, TimePoint due) {
  GivenUp& one = given_up_.emplace_back();
  one.ended.job = &job;
  one.ended.finish.answer.outcome = std::move(outcome);
  one.due = due;
}

bool DeviceSchedule::end_later(EvaluationJob& job, Outcome outcome) {
  if (!pool_.pooled()) return false;
  give_up(job, std::move(outcome), std::chrono::steady_clock::now() + kAfterLoss);
  return true;
}

bool DeviceSchedule::send_elsewhere(EvaluationJob& job, const DeviceLine& lost_on) {
  if (!pool_.pooled() || job.lost_on != nullptr || !pool_.has_other(lost_on)) return false;
  job.lost_on = &lost_on;
  waiting_.add_first(job);
  return true;
}

// Its baselines are timed again alongside it.
void DeviceSchedule::ask_for_fresh_process(DeviceLine& line, EvaluationJob& job) {
  if (line.fresh_for != &job) {
    release(job);
    line.fresh_for = &job;
    history(job).set_baseline_timed(false);
  }
  if (line.client.had_candidate()) line.client.abandon();
}

void DeviceSchedule::release(const EvaluationJob& job) {
  for (DeviceLine& line : pool_.lines()) {
    if (line.fresh_for == &job) line.fresh_for = nullptr;
    if (line.baseline_before == &job) line.baseline_before = nullptr;
  }
}

// ---- tasks

// In a pool where what decides is timed.
// Turns with a library are with a baseline of their own.
bool DeviceSchedule::wants_baseline(const EvaluationJob& job, const DeviceLine& line) const {
  return options_.time_baseline && pool_.decides(line) && job.request.depth == Depth::time &&
         !job.request.profile && job.request.library.empty() && !history(job).baseline_timed();
}

// The job that it goes before keeps waiting.
void DeviceSchedule::start_baseline(DeviceLine& line, const EvaluationJob& job) {
  line.baseline_before = &job;
  line.baseline_of = &history(job);
  line.baseline_of->set_baseline_timed(true);
  line.client.start(tasks_.baseline(job), std::chrono::steady_clock::now() + tasks_.time_limit(job));
}

void DeviceSchedule::start(DeviceLine& line, EvaluationJob& job) {
  mark_started(job);
  line.running = &job;
  line.fresh_for = nullptr;
  waiting_.remove(job);
  line.client.start(tasks_.evaluation(job, history(job)), job.started + tasks_.time_limit(job));
}

std::optional<DeviceSchedule::Finished> DeviceSchedule::poll() {
  pool_.poll();
  for (DeviceLine& line : pool_.lines()) {
    if (!line.client.busy()) continue;
    auto ended = poll(line);
    if (!ended) continue;
    if (auto finished = take(line, std::move(*ended))) return finished;
  }
  const auto due = std::ranges::min_element(given_up_, {}, &GivenUp::due);
  if (due == given_up_.end() || due->due > std::chrono::steady_clock::now()) return std::nullopt;
  Finished ended = std::move(due->ended);
  given_up_.erase(due);
  return ended;
}

std::optional<DeviceFinish> DeviceSchedule::poll(DeviceLine& line) {
  try {
    return line.client.poll();
  } catch (const Error& error) {
    survive(line, error);
    return std::nullopt;
  }
}

std::optional<DeviceSchedule::Finished> DeviceSchedule::take(DeviceLine& line, DeviceFinish finish) {
  const Outcome& outcome = finish.answer.outcome;
  const bool lost = outcome.status == Status::infrastructure_error && !line.client.has_process();
  if (!finish.answer.device_fault.empty())
    pool_.note_fault(line, finish.answer.device_fault);
  else
    lost ? pool_.note_loss(line, outcome.message) : pool_.note_answer(line);
  if (line.baseline_of != nullptr) {
    line.baseline_before = nullptr;
    std::exchange(line.baseline_of, nullptr)
        ->keep_baselines(std::move(finish.answer), pool_.other_device(line), line.place.name);
    return std::nullopt;
  }
  EvaluationJob* ended = std::exchange(line.running, nullptr);
  if (line.queued != nullptr && line.client.busy()) {
    line.running = std::exchange(line.queued, nullptr);
    mark_started(*line.running);
  }
  if (ended == nullptr) return std::nullopt;  // cancelled
  if (!lost) ++line.answers;
  ended->result.device = pool_.other_device(line);
  if (pool_.pooled()) ended->result.place = line.place.name;
  return Finished{.job = ended, .finish = std::move(finish), .lost_on = lost ? &line : nullptr};
}

void DeviceSchedule::remove(const EvaluationJob& job) {
  waiting_.remove(job);
  release(job);
  std::erase_if(given_up_, [&](const GivenUp& one) { return one.ended.job == &job; });
}

void DeviceSchedule::cancel(const EvaluationJob& job) {
  waiting_.remove(job);
  for (DeviceLine& line : pool_.lines()) {
    if (line.running != &job && line.queued != &job) continue;
    // The worker goes with it; whichever of the two tasks was not meant starts again.
    line.client.abandon();
    for (EvaluationJob* other : {std::exchange(line.queued, nullptr), std::exchange(line.running, nullptr)})
      if (other != nullptr && other != &job) waiting_.add_first(*other);
  }
}

// ---- waiting

void DeviceSchedule::add_descriptors(std::vector<pollfd>& descriptors) const {
  pool_.add_descriptors(descriptors);
}

DeviceSchedule::TimePoint DeviceSchedule::wake_up() const {
  TimePoint first = TimePoint::max();
  for (const GivenUp& one : given_up_) first = std::min(first, one.due);
  for (const DeviceLine& line : pool_.lines())
    if (line.client.busy()) first = std::min(first, line.client.wake_up());
  return first;
}

}  // namespace ak::runtime
