// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/evaluator/local_evaluator.h"
#include "runtime/evaluator/probe_answers.h"

namespace ak::runtime {

/// What a place of a pool has, and whether a search could use it.
struct PlaceFinding {
  std::string place;
  std::string fault;               ///< why not; empty: it could
  std::vector<std::string> notes;  ///< what is strange all the same
  std::optional<DeviceFacts> device;
  std::optional<WorkerMachine> machine;
  double clock_skew_s = 0;  ///< of the machine's clock ahead of this one's, as far as its answer was quick
  std::optional<Calibration> calibration;
};

/// Has a worker of every place join and calibrate its device, all at once. What has not answered by then is a fault,
/// and so is a device that the first one's times cannot be compared with, or a worker of another version.
/// @param options as of an evaluator: device, target, pool and worker_command are looked at
/// @param version of this program
[[nodiscard]] std::vector<PlaceFinding> probe_pool(const EvaluatorOptions& options,
                                                   const std::string& version,
                                                   std::chrono::milliseconds limit);

}  // namespace ak::runtime
