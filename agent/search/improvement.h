// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace ak::agent {

/// Expected improvement below `best` of a normal variable. `variance` is above 0.
[[nodiscard]] inline double expected_improvement(double best, double mean, double variance) {
  const double deviation = std::sqrt(variance), z = (best - mean) / deviation;
  const double density = 0.3989422804014327 * std::exp(-z * z / 2);  // 1 / sqrt(2 pi)
  return deviation * (z * 0.5 * std::erfc(-z * 0.7071067811865476) + density);
}

}  // namespace ak::agent
