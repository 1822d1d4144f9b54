// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/evaluator/device_tasks.h"
#include "runtime/evaluator/evaluation_job.h"
#include "runtime/evaluator/problem_history.h"
#include "runtime/evaluator/waiting_jobs.h"
#include "runtime/fleet/device_pool.h"

namespace ak::runtime {

/// Which of the waiting jobs each device of an evaluator runs next. A device holds the lease of the job that it runs: its
/// answer, or the loss of its worker, ends the lease, and no other answer is taken. A job waits until the references of
/// its problem are built, and while its program runs for another job. One thread.
class DeviceSchedule {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Called before a job would run: ends it where that is not needed, and says so. The job is gone then,
  /// having been removed here.
  using EndWithoutRun = std::function<bool(EvaluationJob&)>;

  /// Starts workers as DevicePool does, and throws as it does. `histories` and what `end_without_run` refers to must
  /// outlive it.
  DeviceSchedule(const EvaluatorOptions& options, ProblemHistories& histories, EndWithoutRun end_without_run);

  [[nodiscard]] bool has_device() const { return !pool_.lines().empty(); }
  /// A device may be at a place of that name.
  [[nodiscard]] bool has_place(const std::string& name) const;
  /// That can take a task now or have one.
  [[nodiscard]] int devices() const { return pool_.present(); }
  /// What launch plans see of the device; of the target's where there is none.
  [[nodiscard]] const DeviceFacts& facts() const { return pool_.facts(); }
  [[nodiscard]] std::vector<PoolPlace> pool_places() const { return pool_.places(); }
  [[nodiscard]] std::vector<CalibrationRecord> take_calibrations() { return pool_.take_calibrations(); }
  [[nodiscard]] const Environment& environment() const { return environment_; }

  /// The job waits for a device from now on, and stays where it is until it is removed or finished.
  void add(EvaluationJob& job) { waiting_.add(job); }
  /// It need not wait any more.
  void remove(const EvaluationJob& job);
  /// The same; where its task runs or was sent ahead the worker goes with it.
  void cancel(const EvaluationJob& job);

  struct Finished {
    EvaluationJob* job = nullptr;
    DeviceFinish finish;
    const DeviceLine* lost_on = nullptr;  ///< whose worker was lost with the task
  };
  /// The next task of a job that has ended. Throws Error when a problem cannot be opened: no device, no memory. In a
  /// pool with other devices one of these tries then; where that fails, too, the job ends.
  [[nodiscard]] std::optional<Finished> poll();
  /// Gives a job that has ended a device once more, before all that wait.
  void run_again(EvaluationJob& job) { waiting_.add_first(job); }
  /// Gives a job whose task was lost to another device of a pool, or once more to the one that decides where the job
  /// asks its own. False when that has happened before, or there is no other: the job ends.
  [[nodiscard]] bool send_elsewhere(EvaluationJob& job, const DeviceLine& lost_on);
  /// A job that was lost with its device and goes to no other ends as `outcome`: in a pool after a pause, see kAfterLoss.
  /// False: at once, by the caller.
  [[nodiscard]] bool end_later(EvaluationJob& job, Outcome outcome);
  /// Gives jobs to the devices that have room.
  void feed();

  /// Appends what becomes readable when poll() has something to do.
  void add_descriptors(std::vector<pollfd>& descriptors) const;
  /// When poll() is to be called even if nothing is readable.
  [[nodiscard]] TimePoint wake_up() const;

 private:
  [[nodiscard]] ProblemHistory& history(const EvaluationJob& job) const {
    return histories_[job.request.problem.get()];
  }
  [[nodiscard]] std::shared_ptr<const OpenProblem> open_problem(const EvaluationJob& job,
                                                                const DeviceLine& line) const {
    // A CPU device is alone in its worker, whatever the number of the GPU that it runs next to.
    const int ordinal = options_.device == DeviceKind::cuda ? line.place.ordinal : 0;
    return job.problem->open_problem(environment_, ordinal, options_.device);
  }
  [[nodiscard]] EvaluationJob* next_job(const DeviceLine& line) const;
  [[nodiscard]] bool may_run(const EvaluationJob& job, const DeviceLine& line) const;
  [[nodiscard]] bool same_program_runs(const EvaluationJob& job) const;
  std::optional<DeviceFinish> poll(DeviceLine& line);
  std::optional<Finished> take(DeviceLine& line, DeviceFinish finish);
  void feed(DeviceLine& line);
  void queue_on(DeviceLine& line);
  void run_next(DeviceLine& line);
  void requeue_lost_task(DeviceLine& line);
  void survive(DeviceLine& line, const Error& error);
  void give_up(EvaluationJob& job, Outcome outcome, TimePoint due);
  void give_up_on_absent_places();
  void ask_for_fresh_process(DeviceLine& line, EvaluationJob& job);
  [[nodiscard]] bool is_kept_elsewhere(const EvaluationJob& job, const DeviceLine& line) const;
  void release(const EvaluationJob& job);
  [[nodiscard]] bool wants_baseline(const EvaluationJob& job, const DeviceLine& line) const;
  void start_baseline(DeviceLine& line, const EvaluationJob& job);
  void start(DeviceLine& line, EvaluationJob& job);

  const EvaluatorOptions& options_;
  ProblemHistories& histories_;
  EndWithoutRun end_without_run_;
  DevicePool pool_;
  Environment environment_;
  DeviceTasks tasks_;
  WaitingJobs waiting_;
  struct GivenUp {
    Finished ended;
    TimePoint due;
  };
  std::deque<GivenUp> given_up_;  ///< which no device could run, or not the one that was asked for
};

}  // namespace ak::runtime
