// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "agent/search/point_kernel.h"

namespace ak::agent {

/// Gaussian process over points. Rows are points in the order in which they were added; their values may
/// change without a new factorisation. Used by one thread.
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
  /// Covariances of a point to the rows from the first one on.
  void compare(std::size_t point, std::size_t first, double* covariance) const;
  [[nodiscard]] std::vector<double> gradient() const;
  void step_parameters();
  [[nodiscard]] std::vector<FittedParameter*> parameters();
  [[nodiscard]] double noise() const;  ///< variance, of the signal's
  void factor();
  void append_factor_row(std::size_t point);

  PointKernel kernel_;
  FittedParameter log_noise_;
  std::vector<double> steps_, last_gradient_;  ///< by parameter; steps in its prior's deviations
  std::vector<std::size_t> rows_;
  PointKernel::Rows compared_;               ///< the rows that have a row in factor_
  std::vector<std::vector<double>> factor_;  ///< L, row by row
  std::vector<double> values_, solved_;      ///< y and L^-1 y
  std::vector<double> alpha_;                ///< K^-1 y
  double signal_ = 1;                        ///< variance
};

}  // namespace ak::agent
