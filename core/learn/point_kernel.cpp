// SPDX-License-Identifier: Apache-2.0
#include "core/learn/point_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace ak {
namespace {

constexpr FittedParameter prior(double value, double deviation) {
  return {.value = value, .prior = value, .deviation = deviation};
}
// Priors of the log weights (chosen): a rank decides over its whole range, equality and divisibility less;
// the likelihood moves them by factors of e^1.5 easily.
constexpr FittedParameter kRank = prior(0, 1.5), kEqual = prior(-1.5, 1.5), kDivisible = prior(-0.7, 1.5);
// Of the product of multiplicative values; twice the product is half a unit away.
constexpr FittedParameter kPower = prior(0.5, 0.5);

template <typename Position>
std::vector<float> numeric_term(std::size_t extent, Position position) {
  double least = position(0), most = least;
  for (std::size_t i = 0; i < extent; ++i) {
    least = std::min(least, position(i));
    most = std::max(most, position(i));
  }
  std::vector<float> squared(extent * extent);
  const double range = most > least ? most - least : 1;
  for (std::size_t i = 0; i < extent * extent; ++i) {
    const double difference = (position(i / extent) - position(i % extent)) / range;
    squared[i] = static_cast<float>(difference * difference);
  }
  return squared;
}

std::vector<float> unequal_term(std::size_t extent) {
  std::vector<float> squared(extent * extent, 1.0F);
  for (std::size_t i = 0; i < extent; ++i) squared[i * extent + i] = 0;
  return squared;
}

/// Several sizes, not a switch or a choice of three.
bool is_multiplicative(const std::vector<std::int64_t>& values) {
  return values.size() > 2 && values.front() > 0 && values.back() >= 4 * values.front();
}

/// e^-r to 3e-7 of it, of r >= 0. Most of a proposal's time would go into the exact one.
float exp_minus(float r) {
  const float x = std::max(r * -1.44269504F, -125.0F);  // log2; above the least exponent
  const int whole = static_cast<int>(x - 0.5F);
  const float f = (x - static_cast<float>(whole)) * 0.69314718F;
  const float fraction =
      1 + f * (1 + f * (1 / 2.0F + f * (1 / 6.0F + f * (1 / 24.0F + f * (1 / 120.0F + f / 720)))));
  return fraction * std::bit_cast<float>((whole + 127) << 23);
}

}  // namespace

PointKernel::PointKernel(const TunableAxes& tunables) {
  for (std::size_t axis = 0; axis < tunables.size(); ++axis) {
    const auto& values = tunables[axis];
    const std::size_t extent = values.size();
    if (extent < 2) continue;
    Axis& own = axes_.emplace_back(Axis{axis, extent, {}, {}, {}, 0});
    const auto add = [&](std::vector<float> term, const FittedParameter& weight) {
      own.terms.push_back(std::move(term));
      parameters_.push_back(weight);
    };
    add(numeric_term(extent, [](std::size_t i) { return static_cast<double>(i); }), kRank);
    if (extent < 3) continue;
    add(unequal_term(extent), kEqual);
    if (values.front() <= 0) continue;
    const auto twos = [&](std::size_t i) { return std::countr_zero(static_cast<std::uint64_t>(values[i])); };
    add(numeric_term(extent, [&](std::size_t i) { return static_cast<double>(twos(i)); }), kDivisible);
    if (!is_multiplicative(values)) continue;
    for (const std::int64_t value : values) own.logs.push_back(std::log2(static_cast<float>(value)));
  }
  for (Axis& axis : axes_) {
    if (axis.logs.empty()) continue;
    axis.power = parameters_.size();
    parameters_.push_back(kPower);
  }
  weigh();
}

void PointKernel::weigh() {
  auto parameter = parameters_.begin();
  for (Axis& axis : axes_) {
    axis.squared.assign(axis.extent * axis.extent, 0);
    for (const auto& term : axis.terms) {
      const auto weight = static_cast<float>(std::exp((parameter++)->value));
      for (std::size_t i = 0; i < term.size(); ++i) axis.squared[i] += weight * term[i];
    }
  }
}

float PointKernel::product(const Ordinals& point) const {
  float sum = 0;
  for (const Axis& axis : axes_)
    if (!axis.logs.empty())
      sum += static_cast<float>(parameters_[axis.power].value) * axis.logs[point[axis.axis]];
  return sum;
}

void PointKernel::append(Rows& rows, const Ordinals& point) const {
  rows.ordinals.resize(axes_.size());
  for (std::size_t i = 0; i < axes_.size(); ++i) rows.ordinals[i].push_back(point[axes_[i].axis]);
  rows.products.push_back(product(point));
}

void PointKernel::squared_distances(const Ordinals& point, const Rows& rows, std::size_t first,
                                    std::span<float> squared) const {
  if (squared.empty()) return;
  const float own = product(point);
  for (std::size_t j = 0; j < squared.size(); ++j) {
    const float apart = own - rows.products[first + j];
    squared[j] = apart * apart;
  }
  std::size_t i = 0;
  for (; i + 4 <= axes_.size(); i += 4) add_axes<4>(point, rows, first, i, squared);
  for (; i < axes_.size(); ++i) add_axes<1>(point, rows, first, i, squared);
}

/// Of several axes at once, which loads and stores every sum once for all of them.
template <std::size_t Count>
void PointKernel::add_axes(const Ordinals& point, const Rows& rows, std::size_t first_row,
                           std::size_t first_axis, std::span<float> squared) const {
  std::array<const float*, Count> tables{};
  std::array<const char16_t*, Count> theirs{};
  for (std::size_t i = 0; i < Count; ++i) {
    const Axis& axis = axes_[first_axis + i];
    tables[i] = &axis.squared[point[axis.axis] * axis.extent];
    theirs[i] = rows.ordinals[first_axis + i].data() + first_row;
  }
  for (std::size_t j = 0; j < squared.size(); ++j) {
    float sum = squared[j];
    for (std::size_t i = 0; i < Count; ++i) sum += tables[i][theirs[i][j]];
    squared[j] = sum;
  }
}

void PointKernel::to_covariances(std::span<const float> squared, double* covariance) {
  for (std::size_t j = 0; j < squared.size(); ++j) {
    const float r = std::sqrt(5 * squared[j]);
    covariance[j] = double{(1 + r + r * r / 3) * exp_minus(r)};
  }
}

void PointKernel::slopes(std::span<const float> squared, double* slopes) {
  for (std::size_t j = 0; j < squared.size(); ++j) {
    const float r = std::sqrt(5 * squared[j]);
    slopes[j] = double{-5.0F / 6 * (1 + r) * exp_minus(r)};
  }
}

PointKernel::PairSums::PairSums(const PointKernel& kernel, const Rows& rows)
    : kernel_(kernel), rows_(rows), pulls_(rows.size()) {
  for (const Axis& axis : kernel.axes_) cells_.emplace_back(axis.extent * axis.extent);
}

void PointKernel::PairSums::add(std::size_t row, std::span<const double> weights) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const char16_t* ordinals = rows_.ordinals[i].data();
    double* cells = &cells_[i][ordinals[row] * kernel_.axes_[i].extent];
    for (std::size_t j = 0; j < weights.size(); ++j) cells[ordinals[j]] += weights[j];
  }
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double pull = 2 * weights[j] * double{rows_.products[row] - rows_.products[j]};
    pulls_[row] += pull;
    pulls_[j] -= pull;
  }
}

std::vector<double> PointKernel::PairSums::gradient() const {
  std::vector<double> result;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    for (const auto& term : kernel_.axes_[i].terms) {
      double sum = 0;
      for (std::size_t cell = 0; cell < term.size(); ++cell) sum += cells_[i][cell] * double{term[cell]};
      result.push_back(sum * std::exp(kernel_.parameters_[result.size()].value));
    }
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto& logs = kernel_.axes_[i].logs;
    if (logs.empty()) continue;
    double sum = 0;
    for (std::size_t row = 0; row < pulls_.size(); ++row)
      sum += pulls_[row] * double{logs[rows_.ordinals[i][row]]};
    result.push_back(sum);
  }
  return result;
}

}  // namespace ak
