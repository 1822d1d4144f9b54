// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "core/device_facts.h"
#include "core/problem.h"

namespace ak::profiler {

/// Least work of one call on one workload, from the problem's formulas.
struct Work {
  double flops = 0;
  double bytes = 0;  ///< read and written
};
/// Throws Error(bad_input) naming the formula when one cannot be evaluated.
[[nodiscard]] Work work_of(const ProblemInstance& problem, const Workload& workload);

/// Weighted geometric mean over the timed workloads of what `time_ns` says for each, nanoseconds.
/// Throws Error(usage) when the problem times nothing.
[[nodiscard]] double weighted_time_ns(const ProblemInstance& problem,
                                      const std::function<double(const Work&)>& time_ns);

/// Time below which no kernel can go because of memory traffic alone: bytes over the peak bandwidth,
/// nanoseconds. Nothing when the bandwidth is not known.
[[nodiscard]] std::optional<double> memory_floor_ns(const ProblemInstance& problem,
                                                    const DeviceFacts& device);

}  // namespace ak::profiler
