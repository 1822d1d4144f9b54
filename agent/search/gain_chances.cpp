// SPDX-License-Identifier: Apache-2.0
#include "agent/search/gain_chances.h"

#include <algorithm>
#include <cmath>

namespace ak::agent {
namespace {

constexpr double kLow = 0.05, kHigh = 0.95;

/// The least gain that is not exceeded with this chance; linear between those of kGains.
double quantile(const GainCurve& chances, double chance) {
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(chances, chance) - chances.begin());
  if (above == 0) return 0;
  if (above == chances.size()) return 1;
  const double part = (chance - chances[above - 1]) / (chances[above] - chances[above - 1]);
  return kGains[above - 1] + part * (kGains[above] - kGains[above - 1]);
}

double mean(const GainCurve& chances) {
  double sum = 0;
  for (std::size_t i = 1; i < kGains.size(); ++i)
    sum += (kGains[i] - kGains[i - 1]) * (1 - (chances[i] + chances[i - 1]) / 2);
  return sum;
}

}  // namespace

void rule_out_gains(GainChances& chances, double most) {
  for (std::size_t i = 0; i < kGains.size(); ++i)
    if (kGains[i] >= most) chances.cautious[i] = chances.sure[i] = 1;
}

/// Either mean is off by a factor of about nine on recorded spaces, to its own side.
RemainingGain summary_of(const GainChances& chances) {
  return {.expected = std::sqrt(mean(chances.sure) * mean(chances.cautious)),
          .low = quantile(chances.sure, kLow),
          .high = quantile(chances.cautious, kHigh)};
}

}  // namespace ak::agent
