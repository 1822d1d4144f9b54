// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/search/history.h"
#include "agent/search/prior_trend.h"
#include "core/learn/point_correlation.h"

namespace ak::agent {

/// Models believe too firmly in what they know of rugged spaces: improvements are expected, and ruled out, by so many times
/// their deviations (chosen: experiments/results/2026-11-27_search_verdicts).
inline constexpr double kBelievedDeviations = 1.7;

/// What a search expects of a point that has no answer.
struct Forecast {
  double mean = 0, deviation = 0;  ///< of its log time, where it works
  double chance = 1;               ///< that it does
  double weight = 1;               ///< so many points of the space it stands for
};

/// A Gaussian process of a search's log times, and a pool of points that may be faster than what was found: random ones
/// and neighbours of the fastest. Where the prior is used the process is of what its trend leaves. Used by one thread.
class ProcessModel {
 public:
  struct Options {
    bool uses_prior = false;
    /// Points in flight are believed to come as predicted; otherwise they are as those that nobody asked for.
    bool believes = true;
  };
  explicit ProcessModel(const Options& options) : options_(options) {}

  /// The point with the largest expected improvement of the log time, times the chance that it does not fail. There is an
  /// answer with a time, here and below.
  [[nodiscard]] PointNumber pick(const History& history, Engine& engine);
  /// Of the pool, those that are the likeliest to be faster than `best`, a log time; of a model that does not believe.
  [[nodiscard]] std::vector<Forecast> forecasts(const History& history, Engine& engine, double best);

 private:
  struct Candidate {
    GaussianProcess::Projection projection;
    bool drawn = false;                    ///< at random
    double trend = 0, trend_variance = 0;  ///< what the prior adds to the model; 0 without one
    double chance = 1;                     ///< not to fail; 1 until it is needed
    double score = 0;                      ///< at least what exact variances and chances give
  };

  [[nodiscard]] double mean_of(PointNumber point) const { return trend_ ? trend_->mean(point) : mean_; }
  [[nodiscard]] bool may_be_asked(const History& history, PointNumber point) const {
    return options_.believes ? history.unseen(point) : !history.answered(point);
  }
  Candidate& best_candidate();
  void relate(Candidate& candidate) const;
  [[nodiscard]] double score(const Candidate& candidate) const;
  [[nodiscard]] double improvement(const Candidate& candidate, double best) const;
  void update(const History& history, Engine& engine);
  void forget(const History& history, Engine& engine);
  void add_rows(const History& history);
  void find_median(const History& history);
  /// What the model learns of an answer.
  [[nodiscard]] double learned(double log_time) const;
  void set_values(const History& history);
  void refill(const History& history, Engine& engine);
  void offer(const History& history, PointNumber point, bool drawn = false);
  [[nodiscard]] double chance_to_work(const Candidate& candidate) const;

  Options options_;
  std::optional<PriorTrend> trend_;  ///< where it is used
  /// Of those seen lately: finding them out of a number takes as long as comparing them with ten rows.
  std::unordered_map<PointNumber, Ordinals> ordinals_;
  std::optional<PointCorrelation> correlation_;
  std::optional<GaussianProcess> model_;
  std::vector<Candidate> pool_;
  std::vector<double> worked_, failed_;  ///< 1 or 0, by the model's rows: what is known of them
  bool any_failed_ = false;
  std::unordered_set<PointNumber> in_pool_, in_model_;
  std::size_t added_ = 0, fitted_rows_ = 0;
  std::unordered_map<PointNumber, double> beliefs_;  ///< predicted log times of points in flight
  double median_ = 0;                                ///< of the log times
  double mean_ = 0, deviation_ = 1;  ///< of the log times; with a prior of what its trend leaves
  double best_ = 0;                  ///< standardised, as what the model holds
};

}  // namespace ak::agent
