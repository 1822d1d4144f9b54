// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

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

/// Samples in run order, and which of them were taken while the device held its clocks down.
struct SampleSeries {
  std::vector<double> times_ns;
  std::vector<std::uint32_t> throttled;  ///< indices, ascending
  bool truncated = false;
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

  /// Times `challenger` and `champion` in turns, in random order within each pair, on the same inputs; both
  /// are of one workload. The measurements have as many samples each, and those of a pair the same index. How
  /// many is fixed before the first, so that looking at them decides nothing; only a challenger that is
  /// clearly slower ends early. Errors as above, of whichever went wrong first.
  [[nodiscard]] Result<std::array<Measurement, 2>, Outcome> measure_in_pairs(const TimingTarget& challenger,
                                                                             const TimingTarget& champion,
                                                                             std::uint64_t seed);

 private:
  using Sets = std::vector<CandidateRun>;  ///< one kernel's, each with inputs and outputs of its own
  Result<Sets, Outcome> make_sets(const TimingTarget& target, std::uint64_t seed);
  void report_now_and_then(const CandidateRun& run);
  Result<double, Outcome> sample_ns(const CandidateRun& run);
  /// Until times stop moving; their median.
  Result<double, Outcome> warm_up(const Sets& sets);
  std::optional<Outcome> sample_all(const Sets& sets, const TimingTarget& target, const TimingBudget& budget,
                                    SampleSeries& series);
  std::optional<Outcome> sample_pairs(const std::array<Sets, 2>& sets, std::size_t pairs,
                                      std::array<SampleSeries, 2>& series);
  Result<Measurement, Outcome> conclude(const TimingTarget& target, const Sets& sets,
                                        const SampleSeries& series);

  Workbench& bench_;
  DataStore& store_;
  DeviceBuffer flush_;
  EventHandle before_, after_;
  NvmlProbe nvml_;
  std::chrono::steady_clock::time_point reported_{};
};

}  // namespace ak::runtime
