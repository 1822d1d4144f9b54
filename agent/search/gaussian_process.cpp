// SPDX-License-Identifier: Apache-2.0
#include "agent/search/gaussian_process.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ak::agent {
namespace {

// Priors of the log weights (chosen): a rank decides over its whole range, equality and divisibility less;
// the likelihood moves them by factors of e^1.5 easily.
constexpr double kRankWeight = 0.0, kEqualWeight = -1.5, kDivisibleWeight = -0.7, kPriorDeviation = 1.5;
// Noise is small: times are medians. The jitter keeps the factorisation positive.
constexpr double kLogNoise = -5, kNoiseDeviation = 1.5, kJitter = 1e-6;
// A signal's variance is known to this many values before any is seen.
constexpr double kSignalWeight = 2;
// Rprop (Riedmiller and Braun 1993) with its usual factors; steps in log weight.
// The likelihood is taken of this many rows at most (chosen): a step's time grows with their cube.
constexpr std::size_t kMostFitted = 120;
constexpr double kFirstStep = 0.3, kLeastStep = 0.02, kMostStep = 0.8, kGrow = 1.2, kShrink = 0.5;

double dot(const double* a, const double* b, std::size_t n) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // four chains, or additions wait for one another
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i] * b[i];
  return s0 + s1 + s2 + s3;
}

double matern(double squared) {
  const double r = std::sqrt(5 * squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}

/// d matern / d squared.
double matern_slope(double squared) {
  const double r = std::sqrt(5 * squared);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

template <typename Position>
DistanceTerm numeric_term(std::size_t axis, std::size_t extent, double weight, Position position) {
  double least = position(0), most = least;
  for (std::size_t i = 0; i < extent; ++i) {
    least = std::min(least, position(i));
    most = std::max(most, position(i));
  }
  DistanceTerm term{axis, weight, std::vector<float>(extent * extent)};
  const double range = most > least ? most - least : 1;
  for (std::size_t i = 0; i < extent * extent; ++i) {
    const double difference = (position(i / extent) - position(i % extent)) / range;
    term.squared[i] = static_cast<float>(difference * difference);
  }
  return term;
}

}  // namespace

std::vector<DistanceTerm> distance_terms(const Points& points) {
  std::vector<DistanceTerm> terms;
  for (std::size_t axis = 0; axis < points.axes(); ++axis) {
    const auto& values = points.values(axis);
    const std::size_t extent = values.size();
    if (extent < 2) continue;
    terms.push_back(
        numeric_term(axis, extent, kRankWeight, [](std::size_t i) { return static_cast<double>(i); }));
    if (extent < 3) continue;
    DistanceTerm equal{axis, kEqualWeight, std::vector<float>(extent * extent, 1.0F)};
    for (std::size_t i = 0; i < extent; ++i) equal.squared[i * extent + i] = 0;
    terms.push_back(std::move(equal));
    if (values.front() <= 0) continue;
    terms.push_back(numeric_term(axis, extent, kDivisibleWeight, [&](std::size_t i) {
      return static_cast<double>(std::countr_zero(static_cast<std::uint64_t>(values[i])));
    }));
  }
  return terms;
}

GaussianProcess::GaussianProcess(const Points& points) : points_(points), terms_(distance_terms(points)) {
  for (const DistanceTerm& term : terms_) log_weights_.push_back(term.prior_log_weight);
  log_weights_.push_back(kLogNoise);
  steps_.assign(log_weights_.size(), kFirstStep);
  last_gradient_.assign(log_weights_.size(), 0);
  weigh();
}

void GaussianProcess::weigh() {
  tables_.clear();
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const DistanceTerm& term = terms_[t];
    if (tables_.empty() || tables_.back().axis != term.axis)
      tables_.push_back({term.axis, points_.extent(term.axis), std::vector<float>(term.squared.size())});
    const auto weight = static_cast<float>(std::exp(log_weights_[t]));
    auto& squared = tables_.back().squared;
    for (std::size_t i = 0; i < squared.size(); ++i) squared[i] += weight * term.squared[i];
  }
  noise_ = std::exp(log_weights_.back()) + kJitter;
}

double GaussianProcess::squared_distance(std::size_t a, std::size_t b) const {
  const char16_t* left = points_.ordinals(a).data();
  const char16_t* right = points_.ordinals(b).data();
  float sum = 0;
  for (const auto& [axis, extent, squared] : tables_) sum += squared[left[axis] * extent + right[axis]];
  return sum;
}

double GaussianProcess::kernel(std::size_t a, std::size_t b) const { return matern(squared_distance(a, b)); }

void GaussianProcess::add(std::size_t point) {
  rows_.push_back(point);
  append_factor_row(rows_.size() - 1);
}

void GaussianProcess::append_factor_row(std::size_t row) {
  std::vector<double> result(row + 1);
  for (std::size_t j = 0; j < row; ++j)
    result[j] = (kernel(rows_[row], rows_[j]) - dot(result.data(), factor_[j].data(), j)) / factor_[j][j];
  const double left = 1 + noise_ - dot(result.data(), result.data(), row);
  result[row] = std::sqrt(std::max(left, kJitter));
  factor_.push_back(std::move(result));
}

void GaussianProcess::factor() {
  factor_.clear();
  for (std::size_t row = 0; row < rows_.size(); ++row) append_factor_row(row);
}

void GaussianProcess::solve() {
  const std::size_t n = rows_.size();
  solved_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    solved_[i] = (values_[i] - dot(factor_[i].data(), solved_.data(), i)) / factor_[i][i];
  signal_ =
      (kSignalWeight + dot(solved_.data(), solved_.data(), n)) / (kSignalWeight + static_cast<double>(n));
  pull_ = solved_;
  for (std::size_t i = n; i-- > 0;) {
    pull_[i] /= factor_[i][i];
    for (std::size_t j = 0; j < i; ++j) pull_[j] -= pull_[i] * factor_[i][j];
  }
}

/// Of the log posterior with respect to the log weights; the signal's variance is at its optimum.
std::vector<double> GaussianProcess::gradient() const {
  const std::size_t n = rows_.size();
  std::vector<std::vector<double>> inverse(n);  // row i: column i of L^-1, from its diagonal on
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i].resize(n - i);
    inverse[i][0] = 1 / factor_[i][i];
    for (std::size_t j = i + 1; j < n; ++j)
      inverse[i][j - i] = -dot(factor_[j].data() + i, inverse[i].data(), j - i) / factor_[j][j];
  }
  std::vector<double> result(log_weights_.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double entry = dot(inverse[i].data(), inverse[j].data() + (i - j), n - i);
      const double slope = pull_[i] * pull_[j] / signal_ - entry;
      if (i == j) {
        result.back() += 0.5 * slope * (noise_ - kJitter);
        continue;
      }
      const double common = slope * matern_slope(squared_distance(rows_[i], rows_[j]));
      const Ordinals a = points_.ordinals(rows_[i]), b = points_.ordinals(rows_[j]);
      for (std::size_t t = 0; t < terms_.size(); ++t) {
        const std::size_t axis = terms_[t].axis;
        result[t] += common * terms_[t].squared[a[axis] * points_.extent(axis) + b[axis]];
      }
    }
  }
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    result[t] *= std::exp(log_weights_[t]);
    result[t] -= (log_weights_[t] - terms_[t].prior_log_weight) / (kPriorDeviation * kPriorDeviation);
  }
  result.back() -= (log_weights_.back() - kLogNoise) / (kNoiseDeviation * kNoiseDeviation);
  return result;
}

void GaussianProcess::step_weights() {
  const auto now = gradient();
  for (std::size_t t = 0; t < now.size(); ++t) {
    const double agreement = now[t] * last_gradient_[t];
    if (agreement != 0)
      steps_[t] = std::clamp(steps_[t] * (agreement > 0 ? kGrow : kShrink), kLeastStep, kMostStep);
    if (now[t] != 0) log_weights_[t] += now[t] > 0 ? steps_[t] : -steps_[t];
  }
  last_gradient_ = now;
  weigh();
}

void GaussianProcess::fit(int steps) {
  const auto rows = rows_;
  const auto values = values_;
  const std::size_t fitted = std::min(rows.size(), kMostFitted);
  for (std::size_t i = 0; i < fitted; ++i) {  // evenly from the first to the last
    rows_[i] = rows[i * rows.size() / fitted];
    values_[i] = values[i * rows.size() / fitted];
  }
  rows_.resize(fitted);
  values_.resize(fitted);
  for (int step = 0; step < steps; ++step) {
    factor();
    solve();
    step_weights();
  }
  rows_ = rows;
  values_ = values;
  factor();
  solve();
}

void GaussianProcess::relate(Projection& projection) const {
  projection.k.reserve(rows_.size());
  for (std::size_t row = projection.k.size(); row < rows_.size(); ++row) {
    const double k = kernel(projection.point, rows_[row]);
    projection.k.push_back(k);
    projection.left = std::min(projection.left, 1 - k * k / (1 + noise_));  // known from this row alone
  }
}

void GaussianProcess::project(Projection& projection) const {
  auto& v = projection.v;
  v.reserve(rows_.size());
  for (std::size_t row = v.size(); row < rows_.size(); ++row)
    v.push_back((projection.k[row] - dot(v.data(), factor_[row].data(), row)) / factor_[row][row]);
  projection.left = std::min(projection.left, 1 - dot(v.data(), v.data(), v.size()));
}

GaussianProcess::Prediction GaussianProcess::predict(const Projection& projection) const {
  return {dot(projection.k.data(), pull_.data(), pull_.size()), signal_ * std::max(projection.left, kJitter)};
}

}  // namespace ak::agent
