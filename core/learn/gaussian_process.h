// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ak {

/// What a fit may change, within bounds, drawn to its prior: a normal distribution.
struct FittedParameter {
  double value = 0, prior = 0, deviation = 1;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// How alike inputs are: covariances in units of the signal's variance, 1 of an input with itself. Inputs are numbers
/// that mean something to the function alone; those that it compares others with are its rows. Used by one thread.
class CorrelationFunction {
 public:
  virtual ~CorrelationFunction() = default;
  [[nodiscard]] virtual std::span<FittedParameter> parameters() = 0;
  /// Takes changed parameters over and drops all rows.
  virtual void restart() = 0;
  virtual void append(std::size_t input) = 0;
  /// Correlations of `input` with the rows [first, first + result.size()).
  virtual void correlate(std::size_t input, std::size_t first, std::span<double> result) const = 0;
  /// Derivatives of the sum of weights[i * n + j] * correlation(row i, row j) over all pairs j < i of the n rows,
  /// by each parameter.
  [[nodiscard]] virtual std::vector<double> gradient(std::span<const double> weights) const = 0;
};

struct GaussianProcessOptions {
  FittedParameter log_noise;  ///< logarithm of the noise's variance over the signal's
  /// Added to the noise's variance, and the minimum of a pivot's square, so that equal rows can be factored.
  double jitter = 1e-12;
  double signal_weight = 0;  ///< of the prior that the signal's variance is 1, in values
  /// fit() looks at this many rows, evenly chosen, when there are more.
  std::size_t max_fitted = std::numeric_limits<std::size_t>::max();
  /// Rprop (Riedmiller and Braun 1993): lengths of steps in deviations of the priors, and their factors.
  double first_step = 0.2, min_step = 0, max_step = 0.5, grow = 1.2, shrink = 0.5;
  bool rest_after_reversal = false;  ///< a parameter whose slope changes its sign stays as it is for one step
};

/// Gaussian process regression (Rasmussen and Williams, Gaussian Processes for Machine Learning, chapters 2 and 5).
/// Rows are inputs in the order in which they were added; their values may change without a new factorisation. The
/// correlation function is not owned, and no one else restarts it or appends to it. Used by one thread.
class GaussianProcess {
 public:
  GaussianProcess(CorrelationFunction& correlation, const GaussianProcessOptions& options);

  /// What is kept of an input to predict it, brought up to date row by row.
  struct Projection {
    std::size_t input = 0;
    std::vector<double> k;  ///< its correlation with each row
    std::vector<double> v;  ///< L^-1 k, where project() went
    double left = 1;        ///< at least the relative variance, which is 1 - |L^-1 k|^2
  };
  struct Prediction {
    double mean = 0, variance = 0;
  };

  [[nodiscard]] const std::vector<std::size_t>& rows() const { return rows_; }
  void add(std::size_t input);
  /// Other rows; values and fit() must follow before anything else.
  void replace(std::vector<std::size_t> rows) { rows_ = std::move(rows); }
  /// One value a row, of mean 0. Call predict() after solve() or fit().
  void set_values(std::vector<double> values) { values_ = std::move(values); }
  void solve();
  /// Steps of gradient ascent of log_likelihood() plus the logarithm of the priors; projections made before are void.
  void fit(int steps);
  /// Of the values, where the signal's variance is at its optimum. Call after solve() or fit().
  [[nodiscard]] double log_likelihood() const;
  /// Its derivatives by the parameters of the correlation function and, last, by the logarithm of the noise.
  [[nodiscard]] std::vector<double> gradient() const;

  /// A column of a trend, by row, and what is believed of its coefficient beforehand.
  struct TrendColumn {
    std::vector<double> values;
    double coefficient = 0, deviation = 1;
  };
  struct Trend {
    std::vector<double> coefficients;
    std::vector<double> covariance;  ///< of the coefficients, row by row
    std::vector<double>
        weights;  ///< (K + noise)^-1 times each column, column by column; 0 of rows without a value
  };
  /// A trend in `values` (not those of set_values()), by generalised least squares: rows that are alike count together
  /// as little more than one, and those without a value not at all. `signal` is the variance of what the trend leaves.
  /// Call set_values() next.
  [[nodiscard]] Trend trend(std::span<const TrendColumn> columns,
                            std::span<const std::optional<double>> values, double signal) const;
  /// What uncertain coefficients add to the variance at a related input where the columns have these values.
  [[nodiscard]] static double trend_variance(const Trend& trend, std::span<const double> columns,
                                             const Projection& projection);

  /// Enough to predict the mean, and a variance that is not too small; linear in the number of new rows.
  void relate(Projection& projection) const;
  /// Makes the variance exact; their number times that of all rows. The input is related.
  void project(Projection& projection) const;
  [[nodiscard]] Prediction predict(const Projection& projection) const;
  /// (K + noise)^-1 y: the mean at an input is the sum of these times its correlations with the rows.
  [[nodiscard]] const std::vector<double>& answers() const { return answers_; }

 private:
  [[nodiscard]] double noise() const;  ///< variance, of the signal's
  [[nodiscard]] std::vector<FittedParameter*> parameters();
  void step_parameters();
  void reserve(std::size_t rows);
  void factor();
  void append_factor_row(std::size_t input);

  CorrelationFunction& correlation_;
  GaussianProcessOptions options_;
  std::vector<double> steps_, last_gradient_;  ///< by parameter; steps in its prior's deviations
  std::vector<std::size_t> rows_;
  std::size_t factored_ = 0, stride_ = 0;  ///< rows in factor_, and room for as many
  std::vector<double> factor_;             ///< L, row by row, stride_ apart
  std::vector<double> values_, answers_;   ///< y and K^-1 y
  double signal_ = 1;                      ///< variance
};

}  // namespace ak
