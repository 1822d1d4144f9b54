// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/evaluation.h"

namespace ak::profiler {

/// A cross-check of an event time: what CUPTI saw the launches of one call take.
struct DurationCheck {
  double event_ns = 0;  ///< median of the timing
  /// While at least one launch ran; where there are no time stamps, the sum of the launches' durations by counters.
  double cupti_ns = 0;
  /// False: the launches alone take longer than the whole call was timed at, by more than clocks, the state
  /// of the caches and launches that overlap explain.
  bool agrees = true;
};

/// @param timed the same workload's timing, by events. Absent where the profile has neither.
[[nodiscard]] std::optional<DurationCheck> check_duration(const Profile& profile, const Measurement& timed);
/// One sentence, with the workload's name.
[[nodiscard]] std::string duration_check_text(const std::string& workload, const DurationCheck& cross_check);

}  // namespace ak::profiler
