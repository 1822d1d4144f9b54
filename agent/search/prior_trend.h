// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/search/history.h"
#include "core/learn/gaussian_process.h"

namespace ak::agent {

/// A search's log times by its prior: a level, and a factor for what each group of earlier answers expects, fitted to
/// the answers of the search. The factors begin with a sum of 1, for a prior that is right; how uncertain they are is
/// part of a point's variance, most where groups disagree. Used by one thread.
class PriorTrend {
 public:
  /// @param level of log times, until fit()
  PriorTrend(SearchPrior& prior, double level);

  /// To the answers with times among the model's rows. Call after the model's fit() and before its set_values().
  /// @param residual variance of what the trend leaves
  void fit(const GaussianProcess& model, const History& history, double residual);
  [[nodiscard]] double mean(PointNumber point) const;
  /// Of the factors and the level at the point.
  [[nodiscard]] double variance(const GaussianProcess::Projection& projection) const;
  /// Of earlier answers near the point, those that worked over all.
  [[nodiscard]] double chance_to_work(PointNumber point) const;

 private:
  SearchPrior& prior_;
  GaussianProcess::Trend trend_;
};

}  // namespace ak::agent
