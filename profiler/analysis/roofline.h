// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "core/plan/work.h"

namespace ak::profiler {

/// Weighted geometric mean over the timed workloads of what `time_ns` says for each, nanoseconds. Throws
/// Error(usage) when the problem times nothing, Error(bad_input) naming a formula that cannot be evaluated.
[[nodiscard]] double weighted_time_ns(const ProblemInstance& problem,
                                      const std::function<double(const Work&)>& time_ns);

/// Time below which no kernel can go because of memory traffic alone: bytes over the peak bandwidth,
/// nanoseconds. Nothing when the bandwidth is not known.
[[nodiscard]] std::optional<double> memory_floor_ns(const ProblemInstance& problem,
                                                    const DeviceFacts& device);

}  // namespace ak::profiler
