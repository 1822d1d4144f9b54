// SPDX-License-Identifier: Apache-2.0
#include "core/learn/point_kernel.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "agent/search/points.h"
#include "core/learn/point_correlation.h"

namespace ak::agent {
namespace {

constexpr std::size_t kRows = 12;

std::shared_ptr<const TunableSpace> powers_of_two() {
  const std::vector<TuningValue> powers = parse_value_list("[1, 2, 4, 8, 16]").value();
  const auto space = TunableSpace::build({.parameters = {{"THREADS", powers},
                                                         {"UNROLL", powers},
                                                         {"BYTES", powers},
                                                         {"SWITCH", parse_value_list("[0, 1]").value()}},
                                          .constraints = {}});
  return std::make_shared<TunableSpace>(space.value());
}

double sum_of_squared_distances(const Points& points, PointKernel& kernel,
                                std::vector<double>* gradient = nullptr) {
  PointKernel::Rows rows;
  for (std::size_t i = 0; i < kRows; ++i) kernel.append(rows, points.ordinals(i * 19 % 250));
  PointKernel::PairSums sums(kernel, rows);
  double result = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    std::vector<float> squared(i);
    kernel.squared_distances(points.ordinals(i * 19 % 250), rows, 0, squared);
    result = std::accumulate(squared.begin(), squared.end(), result);
    sums.add(i, std::vector<double>(i, 1.0));
  }
  if (gradient != nullptr) *gradient = sums.gradient();
  return result;
}

TEST_CASE("derivatives of distances by every parameter are those that differences give") {
  const Points points(powers_of_two());
  PointKernel kernel(points.tunables());
  std::vector<double> gradient;
  sum_of_squared_distances(points, kernel, &gradient);
  REQUIRE(gradient.size() == kernel.parameters().size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    CAPTURE(i);
    constexpr double kStep = 1e-2;
    std::array<double, 2> sums{};
    for (const int side : {0, 1}) {
      kernel.parameters()[i].value += side == 0 ? -kStep : 2 * kStep;
      kernel.weigh();
      sums[static_cast<std::size_t>(side)] = sum_of_squared_distances(points, kernel);
    }
    kernel.parameters()[i].value -= kStep;
    CHECK(gradient[i] == Approx((sums[1] - sums[0]) / (2 * kStep)).epsilon(0.01).margin(0.01));
  }
}

TEST_CASE("covariances and their slopes are those of the Matern kernel") {
  const std::vector<float> squared{0, 1e-4F, 0.1F, 1, 3, 20, 1e4F};
  std::vector<double> covariance(squared.size()), slopes(squared.size());
  PointKernel::to_covariances(squared, covariance.data());
  PointKernel::slopes(squared, slopes.data());
  for (std::size_t i = 0; i < squared.size(); ++i) {
    const double r = std::sqrt(5 * double{squared[i]});
    CHECK(covariance[i] == Approx((1 + r + r * r / 3) * std::exp(-r)).epsilon(2e-6).margin(1e-12));
    CHECK(slopes[i] == Approx(-5.0 / 6 * (1 + r) * std::exp(-r)).epsilon(2e-6).margin(1e-12));
  }
}

TEST_CASE("a Gaussian process learns that only a product of tunables counts") {
  const Points points(powers_of_two());
  const auto value = [&](std::size_t point) {  // of a ridge where the product is 2^6, scaled to variance 1
    double product = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) product += points.ordinals(point)[axis];
    return (std::abs(product - 6) - 2.1) / 1.4;
  };
  Ordinals ordinals;
  PointCorrelation correlation(points.tunables(), [&](std::size_t input) -> const Ordinals& {
    return ordinals = points.ordinals(input);
  });
  GaussianProcess model(correlation, point_process_options());
  std::vector<double> values;
  for (std::size_t i = 0; i < 25; ++i) {
    model.add(i * 103 % 250);
    values.push_back(value(i * 103 % 250));
  }
  model.set_values(values);
  model.fit(15);
  double squares = 0;
  for (std::size_t point = 0; point < points.size(); ++point) {
    GaussianProcess::Projection projection{point, {}, {}, 1};
    model.relate(projection);
    squares += std::pow(model.predict(projection).mean - value(point), 2);
  }
  CHECK(std::sqrt(squares / static_cast<double>(points.size())) < 0.3);
}

}  // namespace
}  // namespace ak::agent
