// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "core/evaluation.h"
#include "runtime/timing/energy.h"
#include "runtime/timing/timed_inputs.h"

namespace ak::runtime {

/// Times of a call in run order, and which of them were taken while the device held its clocks down.
struct SampleSeries {
  std::vector<double> times_ns;
  std::vector<std::uint32_t> throttled;  ///< indices, ascending
  bool truncated = false;
};

/// Why there are no times of a pair.
struct PairFault {
  Outcome outcome;
  bool of_champion = false;  ///< else the challenger's, or no one's
};

/// How a measurement is made.
struct TimingMode {
  Contents contents = Contents::kept;
  bool batch = false;  ///< many short calls between two events, each on its own set
  bool cold =
      true;  ///< else the inputs are read right before, and so is the program's code: not with `batch`
};

/// Times launch sequences with events, L2 flushed before every sample, inputs and outputs rotating
/// (docs/timing.md). One thread.
class Timer {
 public:
  Timer(RunContext& run_context, DataStore& store);

  /// Errors: whatever a run can end in, at StageId::time; wrong results or memory of a timed
  /// call, at StageId::recheck.
  /// @param seed of the first set of inputs that are kept; the others count up from it.
  [[nodiscard]] Result<Measurement, Outcome> measure(const TimingTarget& target, const TimingMode& mode,
                                                     std::uint64_t seed, const TimingBudget& budget);

  /// Times `challenger` and `champion` alternately, in random order within each pair, on the same inputs,
  /// which change from pair to pair; both are of one workload. The measurements have as many samples each,
  /// and those of a pair the same index. How many is fixed before the first, so that looking at them
  /// decides nothing; only a challenger that is clearly slower ends early. Errors as above, of whichever
  /// went wrong first.
  [[nodiscard]] Result<std::array<Measurement, 2>, PairFault> measure_in_pairs(const TimingTarget& challenger,
                                                                               const TimingTarget& champion,
                                                                               bool batch);

  /// Enqueues what displaces everything in L2, lines marked as persisting too.
  void flush_l2() const;

  /// Energy of calls back to back (energy_calls.h), of a problem that does not work in place. Errors: whatever a run
  /// can end in; at StageId::recheck wrong results or memory, and calls that were too fast to have done the work.
  /// @param alone of the same kernel on the same workload
  [[nodiscard]] Result<Energy, Outcome> energy_of(
      const TimingTarget& target, const AloneTimes& alone,
      std::optional<std::chrono::steady_clock::time_point> deadline);

  /// Of the last measurement, in run order, the samples whose results were compared with the reference; ascending.
  [[nodiscard]] const std::vector<std::size_t>& checked_samples() const { return checked_samples_; }

 private:
  [[nodiscard]] std::size_t calls_of_sample(bool batch);
  void report_now_and_then(const CandidateRun& run);
  Result<double, Outcome> sample_ns(const TimedInputs& inputs, std::size_t which, bool cold);
  void read_inputs(const TimedInputs& inputs, std::size_t which) const;
  Result<double, Outcome> warm_up(TimedInputs& inputs, std::size_t which, bool cold);
  Result<SampleSeries, Outcome> sample_all(TimedInputs& inputs, const TimingTarget& target, bool cold,
                                           const TimingBudget& budget);
  Result<std::array<SampleSeries, 2>, PairFault> sample_pairs(TimedInputs& inputs,
                                                              std::span<const TimingTarget* const> targets,
                                                              std::size_t pairs);
  Measurement conclude(const TimingTarget& target, const SampleSeries& series, bool batch, std::size_t calls);

  RunContext& run_context_;
  DataStore& store_;
  DeviceBuffer flush_;
  EventHandle before_, after_;
  NvmlProbe nvml_;
  std::chrono::steady_clock::time_point reported_{};
  std::vector<std::size_t> checked_samples_;
};

}  // namespace ak::runtime
