// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/evaluation.h"

namespace ak::profiler {

/// A second witness of an event time: the durations that hardware counters gave for the launches of one call.
struct DurationWitness {
  double event_ns = 0;    ///< median of the timing
  double counted_ns = 0;  ///< sum over the call's launches
  /// False: the launches alone take longer than the whole call was timed at, by more than clocks, the state
  /// of the caches and launches that overlap explain.
  bool agrees = true;
};

/// @param timed the same workload's timing, by events. Absent where the profile did not count durations.
[[nodiscard]] std::optional<DurationWitness> duration_witness(const Profile& profile,
                                                              const Measurement& timed);
/// One sentence, with the workload's name.
[[nodiscard]] std::string witness_text(const std::string& workload, const DurationWitness& witness);

}  // namespace ak::profiler
