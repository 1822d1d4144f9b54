// SPDX-License-Identifier: Apache-2.0
#include "app/predict/predicted_score.h"

#include "core/learn/stats.h"

namespace ak::app {

std::optional<PredictedScore> predicted_score(std::string model, std::vector<PredictedTime> times,
                                              const std::vector<double>& weights) {
  if (times.empty()) return std::nullopt;
  const auto mean = [&](double PredictedTime::*figure) {
    std::vector<double> figures;
    for (const PredictedTime& time : times) figures.push_back(time.*figure);
    return weighted_geometric_mean(figures, weights);
  };
  PredictedScore score{.model = std::move(model),
                       .score_ns = mean(&PredictedTime::time_ns),
                       .low_ns = mean(&PredictedTime::low_ns),
                       .high_ns = mean(&PredictedTime::high_ns),
                       .times = {}};
  score.times = std::move(times);
  return score;
}

}  // namespace ak::app
