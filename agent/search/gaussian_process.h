// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "agent/search/points.h"

namespace ak::agent {

/// A distance between the values of one axis, squared and scaled to at most 1.
struct DistanceTerm {
  std::size_t axis = 0;
  double prior_log_weight = 0;  ///< where the fit of its weight starts and is drawn to
  std::vector<float> squared;   ///< extent x extent
};
/// Of each axis with more than one value: by rank; from three values on, also equal or not, and by the power
/// of two that divides the value (what warps, vectors and banks care for). The fit decides which count.
[[nodiscard]] std::vector<DistanceTerm> distance_terms(const Points& points);

/// Gaussian process with a Matern-5/2 kernel of a weighted sum of distance terms. Rows are points in the
/// order in which they were added; their values may change without a new factorisation. Used by one thread.
class GaussianProcess {
 public:
  explicit GaussianProcess(const Points& points);

  /// What is kept of a point to predict it, brought up to date row by row.
  struct Projection {
    std::size_t point = 0;
    std::vector<double> k;  ///< its covariance with each row
    std::vector<double> v;  ///< L^-1 k, where project() went
    double left = 1;        ///< at least the relative variance, which is 1 - |L^-1 k|^2
  };
  struct Prediction {
    double mean = 0, variance = 0;
  };

  [[nodiscard]] const std::vector<std::size_t>& rows() const { return rows_; }
  void add(std::size_t point);
  /// Other rows; values and fit() must follow before anything else.
  void replace(std::vector<std::size_t> rows) { rows_ = std::move(rows); }
  /// One value a row, of mean 0 and variance about 1. Call predict() after solve() or fit().
  void set_values(std::vector<double> values) { values_ = std::move(values); }
  void solve();
  /// Some steps of gradient ascent of the marginal likelihood, of some of the rows where there are many;
  /// projections made before are void.
  void fit(int steps);
  /// Enough to predict the mean, and a variance that is not too small; linear in the number of new rows.
  void relate(Projection& projection) const;
  /// Makes the variance exact; their number times that of all rows. The point is related.
  void project(Projection& projection) const;
  [[nodiscard]] Prediction predict(const Projection& projection) const;

 private:
  /// The weighted sum of an axis' terms.
  struct Table {
    std::size_t axis = 0, extent = 0;
    std::vector<float> squared;  ///< extent x extent
  };

  [[nodiscard]] double kernel(std::size_t a, std::size_t b) const;  ///< in [0, 1]
  [[nodiscard]] double squared_distance(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::vector<double> gradient() const;
  void step_weights();
  void weigh();
  void factor();
  void append_factor_row(std::size_t row);

  const Points& points_;
  std::vector<DistanceTerm> terms_;
  std::vector<double> log_weights_, steps_, last_gradient_;  ///< of the terms, then of the noise
  std::vector<Table> tables_;                                ///< of the axes that have terms
  double noise_ = 1e-2;                                      ///< variance, of the signal's
  std::vector<std::size_t> rows_;
  std::vector<std::vector<double>> factor_;  ///< L, row by row
  std::vector<double> values_, solved_;      ///< y and L^-1 y
  std::vector<double> pull_;                 ///< K^-1 y
  double signal_ = 1;                        ///< variance
};

}  // namespace ak::agent
