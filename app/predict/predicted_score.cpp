// SPDX-License-Identifier: Apache-2.0
#include "app/predict/predicted_score.h"

#include "core/learn/stats.h"

namespace ak::app {

std::optional<PredictedScore> predicted_score(std::string model, std::vector<PredictedTime> times,
                                              const std::vector<double>& weights) {
  if (times.empty()) return std::nullopt;
  const auto mean = [&](Nanoseconds PredictedTime::*figure) {
    std::vector<double> figures;
    for (const PredictedTime& time : times) figures.push_back((time.*figure).value());
    return Nanoseconds(weighted_geometric_mean(figures, weights));
  };
  PredictedScore score{.model = std::move(model),
                       .score = mean(&PredictedTime::time),
                       .low = mean(&PredictedTime::low),
                       .high = mean(&PredictedTime::high),
                       .times = {}};
  score.times = std::move(times);
  return score;
}

}  // namespace ak::app
