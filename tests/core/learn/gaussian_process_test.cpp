// SPDX-License-Identifier: Apache-2.0
#include "core/learn/gaussian_process.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

namespace ak {
namespace {

/// e^(-w (a - b)^2) of numbers; the parameter is log w.
class Gaussian final : public CorrelationFunction {
 public:
  explicit Gaussian(std::vector<double> numbers, double weight = 1)
      : numbers_(std::move(numbers)), logs_{{.value = std::log(weight), .prior = 0, .deviation = 3}} {}
  std::span<FittedParameter> parameters() override { return logs_; }
  void restart() override { rows_.clear(); }
  void append(std::size_t input) override { rows_.push_back(numbers_[input]); }
  void correlate(std::size_t input, std::size_t first, std::span<double> result) const override {
    for (std::size_t j = 0; j < result.size(); ++j) result[j] = at(numbers_[input] - rows_[first + j]);
  }
  std::vector<double> gradient(std::span<const double> weights) const override {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double apart = rows_[i] - rows_[j];
        sum -= weights[i * rows_.size() + j] * at(apart) * std::exp(logs_[0].value) * apart * apart;
      }
    }
    return {sum};
  }
  [[nodiscard]] double at(double apart) const { return std::exp(-std::exp(logs_[0].value) * apart * apart); }

 private:
  std::vector<double> numbers_, rows_;
  std::vector<FittedParameter> logs_;
};

GaussianProcessOptions noise_of(double variance, double jitter = 1e-12) {
  GaussianProcessOptions options;
  options.log_noise = {.value = std::log(variance), .prior = std::log(variance), .deviation = 3};
  options.jitter = jitter;
  return options;
}

GaussianProcess::Prediction predicted(const GaussianProcess& process, std::size_t input) {
  GaussianProcess::Projection projection{.input = input, .k = {}, .v = {}};
  process.relate(projection);
  process.project(projection);
  return process.predict(projection);
}

void add_all(GaussianProcess& process, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) process.add(i);
  process.set_values(values);
  process.solve();
}

const std::vector<double> kNumbers{0, 0.7, 1.1, 2.3, 3.1, 4.4, 5.2, 0.4, 9};
const std::vector<double> kValues{0.3, -0.5, 1.2, 0.1, -0.9, 0.8, -1};  // of all numbers but the last two

TEST_CASE("one row gives the mean, variance and likelihood of the closed form") {
  Gaussian correlation({0, 1});
  GaussianProcess process(correlation, noise_of(0.25));
  add_all(process, {2});
  const double signal = 2 * 2 / 1.25, k = std::exp(-1);
  const auto there = predicted(process, 1);
  CHECK(there.mean == Approx(k * 2 / 1.25));
  CHECK(there.variance == Approx(signal * (1 - k * k / 1.25)));
  CHECK(process.log_likelihood() == Approx(-0.5 * (1 + std::log(2 * std::numbers::pi * signal * 1.25))));
}

TEST_CASE("two rows give the mean and variance of the inverse of a matrix of two rows") {
  Gaussian correlation({0, 1, 0.3});
  GaussianProcess process(correlation, noise_of(0.1));
  add_all(process, {1, -2});
  const double d = 1.1, k = correlation.at(1), determinant = d * d - k * k;
  const double first = (d * 1 - k * -2) / determinant, second = (d * -2 - k * 1) / determinant;
  REQUIRE(process.answers().size() == 2);
  CHECK(process.answers()[0] == Approx(first));
  CHECK(process.answers()[1] == Approx(second));
  const double a = correlation.at(0.3), b = correlation.at(0.7);
  const double signal = (first - 2 * second) / 2;
  const double explained = (d * a * a - 2 * k * a * b + d * b * b) / determinant;
  const auto there = predicted(process, 2);
  CHECK(there.mean == Approx(a * first + b * second));
  CHECK(there.variance == Approx(signal * (1 - explained)));
}

TEST_CASE("without noise a Gaussian process goes through its values, and is sure of them") {
  Gaussian correlation(kNumbers);
  GaussianProcess process(correlation, noise_of(1e-12));
  add_all(process, kValues);
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    CHECK(predicted(process, i).mean == Approx(kValues[i]).margin(1e-5));
    CHECK(predicted(process, i).variance < 1e-5);
  }
  CHECK(std::abs(predicted(process, 8).mean) < 1e-5);  // far away: the mean of all
}

TEST_CASE("every row more lowers the relative variance, which the bound from above never falls below") {
  Gaussian correlation(kNumbers);
  GaussianProcess process(correlation, noise_of(0.01));
  GaussianProcess::Projection kept{.input = 7, .k = {}, .v = {}}, related{.input = 7, .k = {}, .v = {}};
  double before = 1;
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    process.add(i);
    process.relate(kept);
    process.project(kept);
    process.relate(related);
    CHECK(kept.left <= before);
    CHECK(related.left >= kept.left);
    GaussianProcess::Projection fresh{.input = 7, .k = {}, .v = {}};
    process.relate(fresh);
    process.project(fresh);
    CHECK(kept.left == Approx(fresh.left));
    before = kept.left;
  }
  CHECK(before < 0.1);
}

TEST_CASE("rows added one by one and rows factored at once predict the same") {
  Gaussian correlation(kNumbers), other(kNumbers);
  GaussianProcess one_by_one(correlation, noise_of(0.05)), at_once(other, noise_of(0.05));
  add_all(one_by_one, kValues);
  at_once.replace({0, 1, 2, 3, 4, 5, 6});
  at_once.set_values(kValues);
  at_once.fit(0);
  for (const std::size_t input : {7, 8}) {
    CHECK(at_once.predict({.input = input, .k = std::vector<double>(7, 0.5), .v = {}}).mean ==
          Approx(one_by_one.predict({.input = input, .k = std::vector<double>(7, 0.5), .v = {}}).mean));
    CHECK(predicted(at_once, input).variance == Approx(predicted(one_by_one, input).variance));
  }
}

TEST_CASE("a point that is there many times is one value with less noise") {
  Gaussian twice({1, 1, 1, 1, 3}), once({1, 3});
  GaussianProcess many(twice, noise_of(0.4)), one(once, noise_of(0.1));
  add_all(many, {1, 3, 1, 3});
  add_all(one, {2});
  CHECK(predicted(many, 4).mean == Approx(predicted(one, 1).mean));
}

TEST_CASE("points that are there many times without noise leave all numbers finite") {
  Gaussian correlation({1, 1, 1, 1 + 1e-9, 3});
  GaussianProcess process(correlation, noise_of(1e-300, 1e-16));
  add_all(process, {1, 1, 1, 1});
  CHECK(predicted(process, 0).mean == Approx(1).epsilon(1e-3));
  CHECK(predicted(process, 4).variance > 0);
  process.fit(3);
  CHECK(std::isfinite(process.log_likelihood()));
  CHECK(std::isfinite(predicted(process, 4).mean));
}

TEST_CASE("derivatives of the likelihood are those that differences give") {
  const auto likelihood = [](double log_weight, double log_noise) {
    Gaussian correlation(kNumbers, std::exp(log_weight));
    GaussianProcess process(correlation, noise_of(std::exp(log_noise)));
    add_all(process, kValues);
    return process.log_likelihood();
  };
  Gaussian correlation(kNumbers, std::exp(0.4));
  GaussianProcess process(correlation, noise_of(std::exp(-1.5)));
  add_all(process, kValues);
  const std::vector<double> gradient = process.gradient();
  REQUIRE(gradient.size() == 2);
  constexpr double kStep = 1e-5;
  CHECK(gradient[0] ==
        Approx((likelihood(0.4 + kStep, -1.5) - likelihood(0.4 - kStep, -1.5)) / (2 * kStep)).epsilon(1e-5));
  CHECK(gradient[1] ==
        Approx((likelihood(0.4, -1.5 + kStep) - likelihood(0.4, -1.5 - kStep)) / (2 * kStep)).epsilon(1e-5));
}

TEST_CASE("a fit raises the likelihood to where it is level, and keeps parameters within bounds") {
  std::vector<double> numbers, values;
  for (int i = 0; i < 40; ++i) {
    numbers.push_back(0.2 * i);
    values.push_back(std::sin(numbers.back()) + (i % 2 == 0 ? 0.05 : -0.05));
  }
  Gaussian correlation(numbers, 30);
  GaussianProcess process(correlation, noise_of(0.5));
  add_all(process, values);
  const double before = process.log_likelihood();
  process.fit(60);
  CHECK(process.log_likelihood() > before + 10);
  CHECK(correlation.parameters()[0].value < 0);  // smooth over more than a unit

  Gaussian bounded(numbers, 30);
  bounded.parameters()[0].low = 2;
  GaussianProcess stopped(bounded, noise_of(0.5));
  add_all(stopped, values);
  stopped.fit(60);
  CHECK(bounded.parameters()[0].value == 2);
}

TEST_CASE("a fit that looks at some rows still predicts by all") {
  std::vector<double> numbers, values;
  for (int i = 0; i < 60; ++i) {
    numbers.push_back(0.1 * i);
    values.push_back(std::cos(numbers.back()));
  }
  Gaussian correlation(numbers);
  GaussianProcessOptions options = noise_of(1e-6);
  options.max_fitted = 12;
  GaussianProcess process(correlation, options);
  add_all(process, values);
  process.fit(5);
  CHECK(process.answers().size() == 60);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    CHECK(predicted(process, i).mean == Approx(values[i]).margin(1e-2));
}

}  // namespace
}  // namespace ak
