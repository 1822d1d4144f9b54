// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ak {

/// Median of `values`; the mean of the middle two for an even count; 0 for none.
[[nodiscard]] double median(std::span<const double> values);

/// Spearman's rank correlation of two lists of the same length; ties share their mean rank; 0 where either is constant.
[[nodiscard]] double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

struct Interval {
  double low = 0, high = 0;
};
/// 95 % interval of the median from order statistics (binomial; no distribution assumed). With fewer than 6
/// values it is the whole range.
[[nodiscard]] Interval median_interval_95(std::span<const double> values);

/// Indices below `count` of the samples that count: those not in `throttled` (ascending), but all where the
/// throttled are the most.
[[nodiscard]] std::vector<std::size_t> usable_samples(std::size_t count,
                                                      std::span<const std::uint32_t> throttled);

/// Times of two kernels taken alternately: the i-th of each were taken one right after the other.
struct PairedSamples {
  std::vector<double> challenger_ns, champion_ns;  ///< of equal length
  double weight = 1;                               ///< of this workload, as in the score
};
struct PairedRatio {
  double ratio =
      1;  ///< challenger over champion: weighted geometric mean of the medians of each workload's ratios
  Interval interval;  ///< of it
};
inline constexpr double kVerdictConfidence =
    0.99;  ///< of the intervals that decide who leads (docs/search.md)
/// Percentile bootstrap over pairs (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter
/// 13); the same samples always give the same interval. At least one workload, and one pair of positive
/// times in each.
/// @param confidence of the interval
[[nodiscard]] PairedRatio paired_ratio(std::span<const PairedSamples> workloads,
                                       double confidence = kVerdictConfidence);

/// exp of the weighted mean of logs. Both spans the same length, values > 0, weights >= 0 with
/// a positive sum.
[[nodiscard]] double weighted_geometric_mean(std::span<const double> values, std::span<const double> weights);

}  // namespace ak
