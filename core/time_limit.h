// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ak {

/// A limit of so many seconds, at most a century: clocks, which count nanoseconds in 64 bits, overflow after three.
[[nodiscard]] inline std::chrono::milliseconds time_limit(double seconds) {
  constexpr double kCentury = 100 * 365.25 * 86'400;
  const double kept = seconds < kCentury ? std::max(seconds, 0.0) : kCentury;
  return std::chrono::milliseconds(std::llround(kept * 1000));
}

}  // namespace ak
