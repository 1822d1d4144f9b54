// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/build/build_queue.h"
#include "runtime/build/compile_answers.h"
#include "runtime/process/worker_process.h"

namespace ak::runtime {

/// The place of one compile worker: its process, the build that it works on, and how long either may
/// take. One thread.
class CompileSlot {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts a worker in an empty slot. @param command without its role
  void start(std::vector<std::string> command);
  /// Waits for the first word of the worker; the error is its reason, or why it does not speak.
  [[nodiscard]] Result<CompilerFacts> await_hello();
  /// Takes the first word of the worker; from then on the time of its build counts.
  [[nodiscard]] Result<CompilerFacts> take_hello(const WorkerMessage& hello);
  /// Ends the worker; what it worked on goes back to the caller.
  std::optional<BuildJob> stop();

  [[nodiscard]] bool has_worker() const { return process_ != nullptr; }
  [[nodiscard]] bool started() const { return started_; }  ///< the worker has said its first word
  [[nodiscard]] WorkerProcess& worker() { return *process_; }
  [[nodiscard]] const std::optional<BuildJob>& job() const { return job_; }

  /// The worker has had no candidate's source, which might have taken it over.
  [[nodiscard]] bool untouched() const { return !touched_; }

  /// Gives the worker a build, which it begins when it has started.
  void give(BuildJob job);
  /// The build has ended, and the worker is free.
  [[nodiscard]] BuildJob take_job();

  /// When something has to be done about the worker even if it is silent; the end of time where it is idle.
  [[nodiscard]] TimePoint deadline() const;
  /// Gives a build back the time that a busy machine did not give its worker; false when it has used its time,
  /// or ten times as much has passed.
  [[nodiscard]] bool prolong();

 private:
  void start_clock();

  std::unique_ptr<WorkerProcess> process_;
  bool started_ = false;
  bool touched_ = false;
  std::optional<BuildJob> job_;
  TimePoint deadline_;                          ///< of the start, then of the job
  TimePoint latest_;                            ///< for the job, however little its worker could do
  std::chrono::nanoseconds computed_before_{};  ///< by the process, for other jobs
};

}  // namespace ak::runtime
