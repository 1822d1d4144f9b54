// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "agent/search/points.h"
#include "core/learn/time_prior.h"

namespace ak::agent {

/// What earlier searches make a search expect of its points. Used by one thread.
class SearchPrior {
 public:
  /// Null where none of the answers can be placed among the tunables of these points. What is no time counts as no
  /// answer. `points` must outlive it.
  static std::unique_ptr<SearchPrior> make(const Points& points, const EarlierSearches& earlier);

  struct Expectation {
    std::vector<double> log_times;  ///< by group, less the mean of its answers
    double log_time = 0;            ///< the mean of these
    TimePrior::Outcomes outcomes;
  };
  /// Valid until the next call.
  [[nodiscard]] const Expectation& at(PointNumber point);
  [[nodiscard]] std::size_t groups() const { return times_.groups(); }
  /// TimePrior::kernel_parameters()
  [[nodiscard]] std::vector<double> kernel_parameters() const { return times_.kernel_parameters(); }
  /// Standard deviation of `log_time` over the space.
  [[nodiscard]] double spread() const { return spread_; }
  /// Points of the space that are expected to be the fastest, fastest first.
  [[nodiscard]] const std::vector<PointNumber>& fastest() const { return fastest_; }

 private:
  SearchPrior(const Points& points, std::vector<std::vector<EarlierAnswer>> groups);
  void find_fastest();

  const Points& points_;
  TimePrior times_;
  std::unordered_map<PointNumber, Expectation> expectations_;
  double spread_ = 0;
  std::vector<PointNumber> fastest_;
};

}  // namespace ak::agent
