// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "core/evaluation.h"
#include "runtime/candidate_run.h"
#include "runtime/nvml_probe.h"

namespace ak::runtime {

struct TimingTarget {
  /// Binds what is timed to a data set; called for every set.
  std::function<Result<CandidateRun, Outcome>(std::shared_ptr<const DataSet>)> bind;
  const WorkloadLayout& workload;
  MeasurementRole role = MeasurementRole::candidate;
  std::string label;  ///< of a baseline
  std::optional<double> incumbent_ns;
  std::vector<CheckRecord>* records = nullptr;  ///< where the checks after timing go, if anyone asks
};

/// Times launch sequences with events, L2 flushed before every sample, inputs and outputs rotating
/// (docs/timing.md). One thread.
class Timer {
 public:
  Timer(Workbench& bench, DataStore& store);

  /// Errors: whatever a run can end in, at StageId::time; wrong results or memory after timing, at
  /// StageId::recheck.
  /// @param seed of the first set of inputs; the others count up from it.
  [[nodiscard]] Result<Measurement, Outcome> measure(const TimingTarget& target, std::uint64_t seed,
                                                     const TimingBudget& budget);

 private:
  Result<std::vector<CandidateRun>, Outcome> make_sets(const TimingTarget& target, std::uint64_t seed);
  Result<double, Outcome> sample_ns(const CandidateRun& run, bool report);
  std::optional<Outcome> sample_all(const std::vector<CandidateRun>& sets, const TimingTarget& target,
                                    const TimingBudget& budget, Measurement& measurement);
  std::optional<Outcome> recheck(const std::vector<CandidateRun>& sets, std::vector<CheckRecord>& records);

  Workbench& bench_;
  DataStore& store_;
  DeviceBuffer flush_;
  EventHandle before_, after_;
  NvmlProbe nvml_;
};

}  // namespace ak::runtime
