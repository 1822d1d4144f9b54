// SPDX-License-Identifier: Apache-2.0
#include "agent/search/gaussian_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace ak::agent {
namespace {

// Noise is small: times are medians. The jitter keeps the factorisation positive.
constexpr FittedParameter kLogNoise{-5, -5, 1.5};
constexpr double kJitter = 1e-6;
// A signal's variance is known to this many values before any is seen.
constexpr double kSignalWeight = 2;
// The likelihood is taken of this many rows at most (chosen): a step's time grows with their cube.
constexpr std::size_t kMaxFitted = 100;
// Rprop (Riedmiller and Braun 1993) with its usual factors; steps in deviations of the priors.
constexpr double kFirstStep = 0.2, kMinStep = 0.013, kMaxStep = 0.53, kGrow = 1.2, kShrink = 0.5;

double dot(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t kLanes = 8;  // independent sums, or additions wait for one another
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[4]) + (sums[1] + sums[5]) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

GaussianProcess::GaussianProcess(const Points& points) : kernel_(points), log_noise_(kLogNoise) {
  steps_.assign(parameters().size(), kFirstStep);
  last_gradient_.assign(steps_.size(), 0);
}

std::vector<FittedParameter*> GaussianProcess::parameters() {
  std::vector<FittedParameter*> result;
  for (FittedParameter& parameter : kernel_.parameters()) result.push_back(&parameter);
  result.push_back(&log_noise_);
  return result;
}

double GaussianProcess::noise() const { return std::exp(log_noise_.value) + kJitter; }

void GaussianProcess::compare(std::size_t point, std::size_t first, double* covariance) const {
  std::vector<float> squared(compared_.size() - first);
  kernel_.squared_distances(point, compared_, first, squared);
  PointKernel::to_covariances(squared, covariance);
}

void GaussianProcess::add(std::size_t point) {
  rows_.push_back(point);
  append_factor_row(point);
}

void GaussianProcess::append_factor_row(std::size_t point) {
  const std::size_t row = factor_.size();
  std::vector<double> result(row + 1);
  compare(point, 0, result.data());
  for (std::size_t j = 0; j < row; ++j)
    result[j] = (result[j] - dot(result.data(), factor_[j].data(), j)) / factor_[j][j];
  const double left = 1 + noise() - dot(result.data(), result.data(), row);
  result[row] = std::sqrt(std::max(left, kJitter));
  factor_.push_back(std::move(result));
  kernel_.append(compared_, point);
}

void GaussianProcess::factor() {
  factor_.clear();
  compared_ = {};
  for (const std::size_t point : rows_) append_factor_row(point);
}

void GaussianProcess::solve() {
  const std::size_t n = rows_.size();
  solved_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    solved_[i] = (values_[i] - dot(factor_[i].data(), solved_.data(), i)) / factor_[i][i];
  signal_ =
      (kSignalWeight + dot(solved_.data(), solved_.data(), n)) / (kSignalWeight + static_cast<double>(n));
  alpha_ = solved_;
  for (std::size_t i = n; i-- > 0;) {
    alpha_[i] /= factor_[i][i];
    for (std::size_t j = 0; j < i; ++j) alpha_[j] -= alpha_[i] * factor_[i][j];
  }
}

/// Of the log posterior by the parameters; the signal's variance is at its optimum.
std::vector<double> GaussianProcess::gradient() const {
  const std::size_t n = rows_.size();
  std::vector<std::vector<double>> inverse(n);  // row i: column i of L^-1, from its diagonal on
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i].resize(n - i);
    inverse[i][0] = 1 / factor_[i][i];
    for (std::size_t j = i + 1; j < n; ++j)
      inverse[i][j - i] = -dot(factor_[j].data() + i, inverse[i].data(), j - i) / factor_[j][j];
  }
  PointKernel::PairSums sums(kernel_, compared_);
  std::vector<float> squared(n);
  std::vector<double> weights(n);
  double by_noise = 0;
  for (std::size_t i = 0; i < n; ++i) {
    kernel_.squared_distances(rows_[i], compared_, 0, std::span(squared).first(i));
    PointKernel::slopes(std::span(squared).first(i), weights.data());
    for (std::size_t j = 0; j <= i; ++j) {
      const double entry = dot(inverse[i].data(), inverse[j].data() + (i - j), n - i);
      const double by_covariance = alpha_[i] * alpha_[j] / signal_ - entry;
      if (j < i) weights[j] *= by_covariance;
      if (j == i) by_noise += 0.5 * by_covariance * (noise() - kJitter);
    }
    sums.add(i, std::span(weights).first(i));
  }
  auto result = sums.gradient();
  result.push_back(by_noise);
  return result;
}

void GaussianProcess::step_parameters() {
  auto now = gradient();
  const auto fitted = parameters();
  for (std::size_t t = 0; t < now.size(); ++t) {
    auto& [value, prior, deviation] = *fitted[t];
    now[t] -= (value - prior) / (deviation * deviation);
    const double agreement = now[t] * last_gradient_[t];
    if (agreement != 0)
      steps_[t] = std::clamp(steps_[t] * (agreement > 0 ? kGrow : kShrink), kMinStep, kMaxStep);
    if (now[t] != 0) value += (now[t] > 0 ? steps_[t] : -steps_[t]) * deviation;
  }
  last_gradient_ = now;
  kernel_.weigh();
}

void GaussianProcess::fit(int steps) {
  const auto rows = rows_;
  const auto values = values_;
  const std::size_t fitted = std::min(rows.size(), kMaxFitted);
  for (std::size_t i = 0; i < fitted; ++i) {  // evenly from the first to the last
    rows_[i] = rows[i * rows.size() / fitted];
    values_[i] = values[i * rows.size() / fitted];
  }
  rows_.resize(fitted);
  values_.resize(fitted);
  for (int step = 0; step < steps; ++step) {
    factor();
    solve();
    step_parameters();
  }
  rows_ = rows;
  values_ = values;
  factor();
  solve();
}

void GaussianProcess::relate(Projection& projection) const {
  const std::size_t first = projection.k.size();
  projection.k.resize(compared_.size());
  compare(projection.point, first, projection.k.data() + first);
  const double whole = 1 + noise();
  for (std::size_t row = first; row < projection.k.size(); ++row) {
    const double k = projection.k[row];
    projection.left = std::min(projection.left, 1 - k * k / whole);  // known from this row alone
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
  return {dot(projection.k.data(), alpha_.data(), alpha_.size()),
          signal_ * std::max(projection.left, kJitter)};
}

}  // namespace ak::agent
