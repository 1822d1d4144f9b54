// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/evaluation_job.h"
#include "runtime/evaluator/problem_history.h"
#include "runtime/fleet/device_breaker.h"
#include "runtime/fleet/worker_link.h"
#include "runtime/process/child_process.h"

namespace ak::runtime {

/// A device of an evaluator: its worker, what that has open, and the jobs that it holds the lease of.
struct DeviceLine {
  DeviceLine(DevicePlace where, std::vector<std::string> argv, bool watched)
      : place(std::move(where)),
        errors(place.own() ? nullptr : std::make_unique<const ChildErrors>()),
        client(std::move(argv), watched, errors.get()),
        // A place that rests listens to nobody: a worker that connects must not have left when it listens again.
        breaker(place.connects ? kControllerAbsence / 2 : DeviceBreaker::kLongestRest) {}

  const DevicePlace place;
  /// What a launcher, or another machine behind it, writes to its standard error, or who waits for a worker that connects;
  /// null: the worker is this program here.
  const std::unique_ptr<const ChildErrors> errors;
  std::string half_line;        ///< of that, which was not shown yet
  std::size_t shown_lines = 0;  ///< of that, since its worker was lost last
  DeviceClient client;
  std::shared_ptr<const DeviceFacts> device;  ///< null: its worker has not said yet which it is
  std::shared_ptr<const DeviceFacts>
      found;  ///< what it is once its calibration has passed; null: none is awaited
  /// That it had last; kept while it is calibrated again, so that no other place takes its GPU meanwhile. Null: none, or
  /// the worker elsewhere that had it was lost.
  std::shared_ptr<const DeviceFacts> known;
  DeviceBreaker breaker;
  std::chrono::steady_clock::time_point seen = {};  ///< when it last had a worker
  std::string objection;                            ///< why what joined last could not stay; empty: it did
  std::string trouble;                              ///< why it rests, or rested last
  int sm_clock_mhz = 0;                             ///< at its last calibration; 0: not known
  int answers = 0;
  std::chrono::steady_clock::duration present =
      {};  ///< time in all that it had a worker, or would soon again

  EvaluationJob* running = nullptr;                ///< null: none, or a baseline
  EvaluationJob* queued = nullptr;                 ///< sent ahead; null: none
  std::shared_ptr<const OpenProblem> opened;       ///< on the device
  ProblemHistory* baseline_of = nullptr;           ///< set while a baseline is being timed
  const EvaluationJob* baseline_before = nullptr;  ///< the job that waits for it, until it is over
  EvaluationJob* fresh_for = nullptr;  ///< that waits to be the first candidate of this worker's process
};

}  // namespace ak::runtime
