// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "core/learn/stats.h"

namespace ak {

/// Percentile interval of what `statistic(generator)` gives of 2,000 resamples (Efron and Tibshirani, An
/// Introduction to the Bootstrap, 1993, chapter 13). The generator is seeded the same at every call, so that the same
/// samples always give the same interval.
template <typename Statistic>
[[nodiscard]] Interval bootstrap_interval(Statistic statistic, double confidence = kVerdictConfidence) {
  constexpr std::size_t kResamples = 2'000;  // with 99 % ten of them lie beyond either end
  const auto outside = static_cast<std::size_t>(std::lround(kResamples * (1 - confidence) / 2));
  std::mt19937_64 generator(1);
  std::vector<double> resampled(kResamples);
  for (double& value : resampled) value = statistic(generator);
  std::ranges::sort(resampled);
  return {resampled[outside], resampled[kResamples - 1 - outside]};
}

}  // namespace ak
