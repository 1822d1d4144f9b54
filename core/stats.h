// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace ak {

/// Median of `values`; the mean of the middle two for an even count; 0 for none.
[[nodiscard]] double median(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};
/// 95 % interval of the median from order statistics (binomial; no distribution assumed). With fewer than 6
/// values it is the whole range.
[[nodiscard]] Interval median_interval_95(std::span<const double> values);

/// exp of the weighted mean of logs. Both spans the same length, values > 0, weights >= 0 with a positive
/// sum.
[[nodiscard]] double weighted_geometric_mean(std::span<const double> values, std::span<const double> weights);

}  // namespace ak
