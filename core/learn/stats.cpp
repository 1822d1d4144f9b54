// SPDX-License-Identifier: Apache-2.0
#include "core/learn/stats.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/learn/bootstrap.h"

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

struct LogRatios {
  std::vector<double> values;
  double weight;
};

LogRatios log_ratios(const PairedSamples& samples) {
  AK_ASSERT(samples.challenger_ns.size() == samples.champion_ns.size() && !samples.champion_ns.empty(),
            "samples come in pairs");
  LogRatios result{{}, samples.weight};
  for (std::size_t i = 0; i < samples.champion_ns.size(); ++i)
    result.values.push_back(std::log(samples.challenger_ns[i] / samples.champion_ns[i]));
  return result;
}

// Of pairs drawn with replacement.
double resampled_median(const std::vector<double>& values, std::mt19937_64& generator) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) value = values[generator() % values.size()];
  return median(drawn);
}

/// From 0; equal values share the mean of theirs.
std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) rank[order[i]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return rank;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> parted(values.begin(), values.end());
  const auto middle = parted.begin() + static_cast<std::ptrdiff_t>(parted.size() / 2);
  std::ranges::nth_element(parted, middle);  // which is all that a resampled median needs, a thousand times
  return parted.size() % 2 == 1 ? *middle : (*std::max_element(parted.begin(), middle) + *middle) / 2;
}

Interval median_interval_95(std::span<const double> values) {
  if (values.empty()) return {};
  const std::vector<double> ordered = sorted(values);
  // The k-th smallest and k-th largest value bound the median; below 6 values not even the extremes
  // reach 95 %.
  const std::size_t rank = std::max<std::size_t>(values_outside(ordered.size()), 1);
  return {ordered[rank - 1], ordered[ordered.size() - rank]};
}

std::vector<std::size_t> usable_samples(std::size_t count, std::span<const std::uint32_t> throttled) {
  std::vector<std::size_t> all(count), free;
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::copy_if(all, std::back_inserter(free),
                       [&](std::size_t i) { return !std::ranges::binary_search(throttled, i); });
  return free.size() * 2 < count ? all : free;
}

PairedRatio paired_ratio(std::span<const PairedSamples> workloads, double confidence) {
  AK_ASSERT(!workloads.empty(), "a comparison is of one workload at least");
  std::vector<LogRatios> logs;
  std::transform(workloads.begin(), workloads.end(), std::back_inserter(logs), log_ratios);
  double total_weight = 0;
  for (const LogRatios& one : logs) total_weight += one.weight;
  AK_ASSERT(total_weight > 0, "a weight is positive");
  const auto combined = [&](auto median_of) {
    double sum = 0;
    for (const LogRatios& one : logs) sum += one.weight * median_of(one.values);
    return std::exp(sum / total_weight);
  };
  return {.ratio = combined([](const auto& values) { return median(values); }),
          .interval = bootstrap_interval(
              [&](std::mt19937_64& generator) {
                return combined([&](const auto& values) { return resampled_median(values, generator); });
              },
              confidence)};
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

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = mean_ranks(a), y = mean_ranks(b);
  const double centre = 0.5 * static_cast<double>(x.size() - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - centre) * (y[i] - centre);
    xx += (x[i] - centre) * (x[i] - centre);
    yy += (y[i] - centre) * (y[i] - centre);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace ak
