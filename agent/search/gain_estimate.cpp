// SPDX-License-Identifier: Apache-2.0
#include "agent/search/gain_estimate.h"

#include <algorithm>
#include <cmath>

namespace ak::agent {
namespace {

constexpr std::size_t kLeastAnswers = 20;  // before a model is worth asking (chosen)
constexpr double kMostSure = 1 - 1e-9;     // so that a logarithm is finite

/// That it works and takes less than `bar`, a log time.
double chance_below(const Forecast& point, double bar) {
  const double z = (point.mean - bar) / (kBelievedDeviations * point.deviation);
  return point.chance * 0.5 * std::erfc(z * 0.7071067811865476);  // 1 / sqrt(2)
}

}  // namespace

/// As if points were independent, which expects too much rather than too little.
std::optional<GainChances> GainEstimate::chances(const History& history, double best_ns) {
  GainChances chances;
  chances.fill(1);
  if (history.unanswered() == 0) return chances;
  if (!history.best() || history.told().size() < kLeastAnswers) return std::nullopt;
  const double best = std::log(best_ns);
  const auto forecasts = model_.forecasts(history, engine_, best);
  for (std::size_t i = 0; i + 1 < kGains.size(); ++i) {
    double log_chance = 0;
    const double bar = best + std::log1p(-kGains[i]);
    for (const Forecast& point : forecasts)
      log_chance += point.weight * std::log1p(-std::min(chance_below(point, bar), kMostSure));
    chances[i] = std::exp(log_chance);
  }
  return chances;
}

}  // namespace ak::agent
