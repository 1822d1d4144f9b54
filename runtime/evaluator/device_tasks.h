// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/device/device_facts.h"
#include "runtime/evaluator/evaluation_job.h"
#include "runtime/evaluator/problem_history.h"

namespace ak::runtime {

/// Makes the tasks of a device out of jobs whose plans are resolved. One thread.
class DeviceTasks {
 public:
  DeviceTasks(DeviceKind kind, DeviceFacts facts) : kind_(kind), facts_(std::move(facts)) {}

  /// All stages of the device worker that the request asks for.
  [[nodiscard]] DeviceTask evaluation(const EvaluationJob& job, const ProblemHistory& history) const;
  /// The plain reference in the candidates' precision, on the timed workloads: what "naive" means for this
  /// problem; on a GPU its libraries, too.
  [[nodiscard]] DeviceTask baseline(const EvaluationJob& job) const;
  /// How long the device may take for the job.
  [[nodiscard]] std::chrono::milliseconds time_limit(const EvaluationJob& job) const;

 private:
  /// @param turn as whose turn the job's variant draws inputs.
  [[nodiscard]] WorkloadTask workload_task(const EvaluationJob& job, std::size_t index, std::size_t turn,
                                           const ProblemHistory& history) const;
  [[nodiscard]] bool is_short(const EvaluationJob& job, const Workload& workload) const;

  DeviceKind kind_;
  DeviceFacts facts_;
};

}  // namespace ak::runtime
