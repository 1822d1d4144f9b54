// SPDX-License-Identifier: Apache-2.0
#include "core/learn/gaussian_process.h"

// The library checks indices in every product otherwise.
#define EIGEN_NO_DEBUG
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ak {
namespace {

constexpr double kMinSignal = 1e-12;  // variance of values that are all alike

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::VectorXd;
using Stride = Eigen::OuterStride<>;
using MatrixView = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
using VectorView = Eigen::Map<VectorXd>;
using ConstVectorView = Eigen::Map<const VectorXd>;

ConstVectorView view(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
VectorView view(std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
/// The leading square of a matrix whose rows are `stride` apart.
MatrixView view(const std::vector<double>& values, std::size_t size, std::size_t stride) {
  const auto extent = static_cast<Eigen::Index>(size);
  return {values.data(), extent, extent, Stride(static_cast<Eigen::Index>(stride))};
}
/// x in L x = b, where the first `known` elements of b are already those of x.
void solve_from(const MatrixView& factor, Eigen::Index known, VectorView values) {
  const Eigen::Index rest = factor.rows() - known;
  auto tail = values.tail(rest);
  tail.noalias() -= factor.bottomLeftCorner(rest, known) * values.head(known);
  factor.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solveInPlace(tail);
}

/// The factor of the covariances of some rows, from that of all of them.
Matrix factor_of(const MatrixView& factor, const std::vector<Eigen::Index>& rows) {
  if (static_cast<Eigen::Index>(rows.size()) == factor.rows()) return factor;
  const Matrix some = Matrix(factor.triangularView<Eigen::Lower>())(rows, Eigen::all);
  return Matrix(some * some.transpose()).llt().matrixL();
}

}  // namespace

GaussianProcess::GaussianProcess(CorrelationFunction& correlation, const GaussianProcessOptions& options)
    : correlation_(correlation), options_(options) {
  steps_.assign(parameters().size(), options.first_step);
  last_gradient_.assign(steps_.size(), 0);
}

std::vector<FittedParameter*> GaussianProcess::parameters() {
  std::vector<FittedParameter*> result;
  for (FittedParameter& parameter : correlation_.parameters()) result.push_back(&parameter);
  result.push_back(&options_.log_noise);
  return result;
}

double GaussianProcess::noise() const { return std::exp(options_.log_noise.value) + options_.jitter; }

void GaussianProcess::reserve(std::size_t rows) {
  if (rows <= stride_) return;
  const std::size_t stride = std::max(rows, 2 * stride_);
  std::vector<double> larger(stride * stride);
  for (std::size_t i = 0; i < factored_; ++i)
    std::copy_n(&factor_[i * stride_], factored_, &larger[i * stride]);
  factor_ = std::move(larger);
  stride_ = stride;
}

void GaussianProcess::add(std::size_t input) {
  rows_.push_back(input);
  append_factor_row(input);
}

void GaussianProcess::append_factor_row(std::size_t input) {
  reserve(factored_ + 1);
  std::vector<double> row(factored_);
  correlation_.correlate(input, 0, row);
  solve_from(view(factor_, factored_, stride_), 0, view(row));
  const double left = 1 + noise() - view(std::as_const(row)).squaredNorm();
  double* stored = &factor_[factored_ * stride_];
  std::ranges::copy(row, stored);
  stored[factored_++] = std::sqrt(std::max(left, options_.jitter));
  correlation_.append(input);
}

void GaussianProcess::factor() {
  correlation_.restart();
  factored_ = 0;
  reserve(rows_.size());
  for (const std::size_t input : rows_) append_factor_row(input);
}

void GaussianProcess::solve() {
  const auto factor = view(factor_, factored_, stride_);
  answers_ = values_;
  auto answers = view(answers_);
  solve_from(factor, 0, answers);
  signal_ = std::max((options_.signal_weight + answers.squaredNorm()) /
                         (options_.signal_weight + static_cast<double>(values_.size())),
                     kMinSignal);
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(answers);
}

double GaussianProcess::log_likelihood() const {
  const auto factor = view(factor_, factored_, stride_);
  return -0.5 * (view(values_).dot(view(answers_)) / signal_ +
                 static_cast<double>(values_.size()) * std::log(2 * std::numbers::pi * signal_)) -
         factor.diagonal().array().log().sum();
}

std::vector<double> GaussianProcess::gradient() const {
  const auto factor = view(factor_, factored_, stride_);
  const Eigen::Index n = factor.rows();
  Matrix inverse = Matrix::Zero(n, n);  // row i: column i of L^-1, which begins at its diagonal
  Matrix weights(n, n);                 // the lower triangle of y y^T - K^-1, y being the answers
  for (Eigen::Index i = 0; i < n; ++i) {
    auto column = inverse.row(i).tail(n - i).transpose();
    column(0) = 1;
    factor.bottomRightCorner(n - i, n - i).triangularView<Eigen::Lower>().solveInPlace(column);
    weights.row(i).head(i + 1).transpose().noalias() =
        view(answers_).head(i + 1) * (answers_[static_cast<std::size_t>(i)] / signal_);
  }
  for (Eigen::Index i = 0; i < n; ++i)
    weights.row(i).head(i + 1).transpose().noalias() -=
        inverse.topRightCorner(i + 1, n - i) * inverse.row(i).tail(n - i).transpose();
  auto result = correlation_.gradient({weights.data(), static_cast<std::size_t>(weights.size())});
  result.push_back(0.5 * weights.trace() * (noise() - options_.jitter));
  return result;
}

void GaussianProcess::step_parameters() {
  const std::vector<double> slopes = gradient();
  const auto fitted = parameters();
  for (std::size_t t = 0; t < fitted.size(); ++t) {
    FittedParameter& parameter = *fitted[t];
    const double slope =
        slopes[t] - (parameter.value - parameter.prior) / (parameter.deviation * parameter.deviation);
    const double agreement = slope * last_gradient_[t];
    if (agreement != 0)
      steps_[t] = std::clamp(steps_[t] * (agreement > 0 ? options_.grow : options_.shrink), options_.min_step,
                             options_.max_step);
    last_gradient_[t] = agreement < 0 && options_.rest_after_reversal ? 0 : slope;
    if (last_gradient_[t] == 0) continue;
    const double step = (slope > 0 ? steps_[t] : -steps_[t]) * parameter.deviation;
    parameter.value = std::clamp(parameter.value + step, parameter.low, parameter.high);
  }
}

void GaussianProcess::fit(int steps) {
  const auto rows = rows_;
  const auto values = values_;
  const std::size_t fitted = std::min(rows.size(), options_.max_fitted);
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

GaussianProcess::Trend GaussianProcess::trend(std::span<const TrendColumn> columns,
                                              std::span<const std::optional<double>> values,
                                              double signal) const {
  std::vector<Eigen::Index> known;
  for (std::size_t row = 0; row < values.size(); ++row)
    if (values[row]) known.push_back(static_cast<Eigen::Index>(row));
  const auto factor = factor_of(view(factor_, factored_, stride_), known);
  const auto count = static_cast<Eigen::Index>(columns.size());
  Eigen::MatrixXd whitened(factor.rows(), count + 1);  // L^-1 of the columns and, last, of the values
  for (Eigen::Index row = 0; row < factor.rows(); ++row) {
    const auto from = static_cast<std::size_t>(known[static_cast<std::size_t>(row)]);
    for (Eigen::Index i = 0; i < count; ++i)
      whitened(row, i) = columns[static_cast<std::size_t>(i)].values[from];
    whitened(row, count) = *values[from];
  }
  factor.triangularView<Eigen::Lower>().solveInPlace(whitened);
  Eigen::MatrixXd normal = whitened.leftCols(count).transpose() * whitened.leftCols(count);
  VectorXd right = whitened.leftCols(count).transpose() * whitened.col(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const TrendColumn& column = columns[static_cast<std::size_t>(i)];
    const double weight = signal / (column.deviation * column.deviation);
    normal(i, i) += weight;
    right(i) += weight * column.coefficient;
  }
  const auto solved = normal.ldlt();
  const VectorXd coefficients = solved.solve(right);
  const Eigen::MatrixXd covariance = signal * solved.solve(Eigen::MatrixXd::Identity(count, count));
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(whitened);
  Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(values.size()), count);
  for (Eigen::Index row = 0; row < factor.rows(); ++row)
    weights.row(known[static_cast<std::size_t>(row)]) = whitened.row(row).head(count);
  return {.coefficients = {coefficients.begin(), coefficients.end()},
          .covariance = {covariance.data(), covariance.data() + covariance.size()},
          .weights = {weights.data(), weights.data() + weights.size()}};
}

double GaussianProcess::trend_variance(const Trend& trend, std::span<const double> columns,
                                       const Projection& projection) {
  const auto count = static_cast<Eigen::Index>(columns.size());
  const Eigen::Map<const Eigen::MatrixXd> weights(trend.weights.data(),
                                                  static_cast<Eigen::Index>(projection.k.size()), count);
  const Eigen::Map<const Eigen::MatrixXd> covariance(trend.covariance.data(), count, count);
  const VectorXd left =
      Eigen::Map<const VectorXd>(columns.data(), count) - weights.transpose() * view(projection.k);
  return left.dot(covariance * left);
}

void GaussianProcess::relate(Projection& projection) const {
  const std::size_t first = projection.k.size();
  projection.k.resize(factored_);
  correlation_.correlate(projection.input, first, std::span(projection.k).subspan(first));
  const double whole = 1 + noise();
  for (std::size_t row = first; row < projection.k.size(); ++row) {
    const double k = projection.k[row];
    projection.left = std::min(projection.left, 1 - k * k / whole);  // known from this row alone
  }
}

void GaussianProcess::project(Projection& projection) const {
  const std::size_t known = projection.v.size();
  projection.v.insert(projection.v.end(), projection.k.begin() + static_cast<std::ptrdiff_t>(known),
                      projection.k.end());
  solve_from(view(factor_, factored_, stride_), static_cast<Eigen::Index>(known), view(projection.v));
  projection.left = std::min(projection.left, 1 - view(std::as_const(projection.v)).squaredNorm());
}

GaussianProcess::Prediction GaussianProcess::predict(const Projection& projection) const {
  return {view(projection.k).dot(view(answers_)), signal_ * std::max(projection.left, options_.jitter)};
}

}  // namespace ak
