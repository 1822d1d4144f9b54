// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"

namespace ak {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

// How many values may be left out at each end: the largest k with P(Binomial(n, 1/2) < k) <= 2.5 %. In
// logarithms, because 2^-n underflows for long series.
std::size_t values_outside(std::size_t count) {
  const auto n = static_cast<double>(count);
  double log_probability = -n * std::log(2.0);
  double cumulative = 0;
  for (std::size_t k = 0; k < count; ++k) {
    cumulative += std::exp(log_probability);
    if (cumulative > 0.025) return k;
    const auto i = static_cast<double>(k);
    log_probability += std::log((n - i) / (i + 1));
  }
  return 0;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  const std::vector<double> ordered = sorted(values);
  const std::size_t middle = ordered.size() / 2;
  return ordered.size() % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

Interval median_interval_95(std::span<const double> values) {
  if (values.empty()) return {};
  const std::vector<double> ordered = sorted(values);
  // The k-th smallest and k-th largest value bound the median; below 6 values not even the extremes reach 95
  // %.
  const std::size_t rank = std::max<std::size_t>(values_outside(ordered.size()), 1);
  return {ordered[rank - 1], ordered[ordered.size() - rank]};
}

double weighted_geometric_mean(std::span<const double> values, std::span<const double> weights) {
  AK_ASSERT(values.size() == weights.size(), "one weight per value");
  double sum = 0, total_weight = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    AK_ASSERT(values[i] > 0 && weights[i] >= 0, "values are positive and weights not negative");
    sum += weights[i] * std::log(values[i]);
    total_weight += weights[i];
  }
  AK_ASSERT(total_weight > 0, "a weight is positive");
  return std::exp(sum / total_weight);
}

}  // namespace ak
