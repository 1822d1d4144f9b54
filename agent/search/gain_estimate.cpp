// SPDX-License-Identifier: Apache-2.0
#include "agent/search/gain_estimate.h"

#include <algorithm>
#include <cmath>

namespace ak::agent {
namespace {

constexpr std::size_t kLeastAnswers = 20;  // before a model is worth asking (chosen)
constexpr double kMostSure = 1 - 1e-9;     // so that a logarithm is finite

/// That it works and takes less than `bar`, a log time, where the model errs by so many of its deviations.
double chance_below(const Forecast& point, double bar, double deviations) {
  const double z = (point.mean - bar) / (deviations * point.deviation);
  return point.chance * 0.5 * std::erfc(z * 0.7071067811865476);  // 1 / sqrt(2)
}

}  // namespace

/// Cautious is to take points for independent and the model for as wrong as it may be; sure is to take all for one, the
/// likeliest, and the model at its word.
std::optional<GainChances> GainEstimate::chances(const History& history, double best_ns) {
  GainChances chances;
  if (history.unanswered() == 0) return chances;
  if (!history.best() || history.told().size() < kLeastAnswers) return std::nullopt;
  const double best = std::log(best_ns);
  const auto forecasts = model_.forecasts(history, engine_, best);
  for (std::size_t i = 0; i + 1 < kGains.size(); ++i) {
    double log_chance = 0, likeliest = 0;
    const double bar = best + std::log1p(-kGains[i]);
    for (const Forecast& point : forecasts) {
      const double faster = chance_below(point, bar, kBelievedDeviations);
      log_chance += point.weight * std::log1p(-std::min(faster, kMostSure));
      likeliest = std::max(likeliest, chance_below(point, bar, 1));
    }
    chances.cautious[i] = std::exp(log_chance);
    chances.sure[i] = 1 - likeliest;
  }
  return chances;
}

}  // namespace ak::agent
