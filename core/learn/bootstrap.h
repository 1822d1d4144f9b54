// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "core/learn/stats.h"

namespace ak {

/// 99 % percentile interval of what `statistic(generator)` gives of 2,000 resamples (Efron and Tibshirani, An
/// Introduction to the Bootstrap, 1993, chapter 13). The generator is seeded the same at every call, so that the same
/// samples always give the same interval.
template <typename Statistic>
[[nodiscard]] Interval bootstrap_interval(Statistic statistic) {
  constexpr std::size_t kResamples = 2'000;  // 10 of them lie beyond either end
  constexpr std::size_t kOutside = 10;
  std::mt19937_64 generator(1);
  std::vector<double> resampled(kResamples);
  for (double& value : resampled) value = statistic(generator);
  std::ranges::sort(resampled);
  return {resampled[kOutside], resampled[kResamples - 1 - kOutside]};
}

}  // namespace ak
