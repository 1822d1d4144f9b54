// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/prediction/analytic_time.h"
#include "profiler/prediction/boosted_trees.h"

namespace ak::profiler {

/// What the correction of the analytic time is learned from, the same for every algorithm: logarithms of
/// ratios of its terms, how blocks fill the device, resources, and work per thread, block and byte.
[[nodiscard]] Features physical_features(const CallFacts& facts, const AnalyticTime& time,
                                         const DeviceRates& rates);

/// The candidate's tunables under names that only points of the same plan share.
[[nodiscard]] Features tunable_features(const CallFacts& facts);

}  // namespace ak::profiler
