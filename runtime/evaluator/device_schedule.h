// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/device_tasks.h"
#include "runtime/evaluator/evaluation_job.h"
#include "runtime/evaluator/problem_history.h"
#include "runtime/evaluator/waiting_jobs.h"

namespace ak::runtime {

/// The device workers of an evaluator, one of a GPU or several of the CPU device, and which of the waiting
/// jobs each of them runs next. A job waits until the references of its problem are built, and while its
/// program runs for another job. One thread.
class DeviceSchedule {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Called before a job would run: ends it where that is not needed, and says so. The job is gone then,
  /// having been removed here.
  using EndWithoutRun = std::function<bool(EvaluationJob&)>;

  /// Starts the worker of a GPU; those of the CPU device start when they are needed. `histories` and what
  /// `end_without_run` refers to must outlive it. Throws Error(usage) when there is no GPU of that ordinal,
  /// Error(environment) with the driver's reason when there is none at all.
  DeviceSchedule(const EvaluatorOptions& options, ProblemHistories& histories, EndWithoutRun end_without_run);

  [[nodiscard]] int devices() const { return static_cast<int>(lines_.size()); }
  /// What launch plans see of the device; of the target's where there is none.
  [[nodiscard]] const DeviceFacts& facts() const { return facts_; }
  [[nodiscard]] const Environment& environment() const { return environment_; }

  /// The job waits for a device from now on, and stays where it is until it is removed or finished.
  void add(EvaluationJob& job) { waiting_.add(job); }
  /// It need not wait any more.
  void remove(const EvaluationJob& job) { waiting_.remove(job); }
  /// The same; where its task runs or was sent ahead the worker goes with it.
  void cancel(const EvaluationJob& job);

  struct Finished {
    EvaluationJob* job = nullptr;
    DeviceFinish finish;
  };
  /// The next task of a job that has ended. Throws Error when a problem cannot be opened: no device, no memory.
  [[nodiscard]] std::optional<Finished> poll();
  /// Gives jobs to the devices that have room.
  void feed();

  /// Appends what becomes readable when poll() has something to do.
  void add_descriptors(std::vector<pollfd>& descriptors) const;
  /// When poll() is to be called even if nothing is readable.
  [[nodiscard]] TimePoint wake_up() const;

 private:
  /// A device worker, and what it has open and runs.
  struct Line {
    Line(std::vector<std::string> argv, bool watched) : client(std::move(argv), watched) {}
    DeviceClient client;
    EvaluationJob* running = nullptr;           ///< null: none, or a baseline
    EvaluationJob* queued = nullptr;            ///< sent ahead; null: none
    std::shared_ptr<const OpenProblem> opened;  ///< on the device
    ProblemHistory* baseline_of = nullptr;      ///< set while a baseline is being timed
  };

  void open_gpu();
  [[nodiscard]] ProblemHistory& history(const EvaluationJob& job) const {
    return histories_[job.request.problem.get()];
  }
  [[nodiscard]] std::shared_ptr<const OpenProblem> open_problem(const EvaluationJob& job) const {
    // A CPU device is alone in its worker, whatever the number of the GPU that it stands beside.
    const int ordinal = options_.device == DeviceKind::cuda ? options_.ordinal : 0;
    return job.problem->open_problem(environment_, ordinal, options_.device);
  }
  [[nodiscard]] EvaluationJob* next_job() const;
  [[nodiscard]] bool same_program_runs(const EvaluationJob& job) const;
  std::optional<Finished> take(Line& line, DeviceFinish finish);
  void feed(Line& line);
  void queue_on(Line& line);
  void requeue_lost_task(Line& line);
  void start_fresh_process(Line& line, EvaluationJob& job);
  [[nodiscard]] bool wants_baseline(const EvaluationJob& job) const;
  void start_baseline(Line& line, const EvaluationJob& job);
  void start(Line& line, EvaluationJob& job);

  const EvaluatorOptions& options_;
  ProblemHistories& histories_;
  EndWithoutRun end_without_run_;
  std::deque<Line> lines_;
  DeviceFacts facts_;
  Environment environment_;
  DeviceTasks tasks_;
  WaitingJobs waiting_;
};

}  // namespace ak::runtime
