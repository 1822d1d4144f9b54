// SPDX-License-Identifier: Apache-2.0
// The two sides that the bounds of an output lie between: honest kernels, and a poorer mantissa.
#include "runtime/check/error_bounds.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "core/plan/random_input.h"
#include "runtime/check/typical_results.h"
#include "tests/support/daily_sample.h"

namespace ak::runtime {
namespace {

using Numbers = std::vector<double>;

double bf16(double x) { return bfloat16_to_float(float_to_bfloat16(static_cast<float>(x))); }

double with_mantissa(double x, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits + 1)), exponent - bits - 1);
}

Numbers each(const Numbers& values, const std::function<double(double)>& change) {
  Numbers changed;
  for (const double value : values) changed.push_back(change(value));
  return changed;
}

double rms_of(const Numbers& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// As the harness's kernels compare.
Comparison compared(const Numbers& got, const Numbers& exact, const ErrorBounds& bounds) {
  const double rms = rms_of(exact);
  Comparison comparison{.count = static_cast<std::int64_t>(exact.size())};
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double apart = std::abs(got[i] - exact[i]);
    const double error = apart == 0 ? 0 : apart / (std::abs(exact[i]) + rms);
    comparison.max_error = std::max(comparison.max_error, error);
    squares += error * error;
    comparison.wrong += error > bounds.element;
    comparison.far += error > bounds.far;
    comparison.unequal += got[i] != bf16(exact[i]);
  }
  comparison.rms_error = std::sqrt(squares / static_cast<double>(exact.size()));
  return comparison;
}

RoundingError rounding_of(const Numbers& exact, double roundoff) {
  const double rms = rms_of(exact);
  RoundingError rounding;
  double squares = 0;
  for (const double x : exact) {
    if (x == 0) continue;
    const double error = roundoff * std::exp2(std::floor(std::log2(std::abs(x)))) / (std::abs(x) + rms);
    rounding.element = std::max(rounding.element, error);
    squares += error * error;
  }
  rounding.rms = std::sqrt(squares / static_cast<double>(exact.size()) / 3);
  return rounding;
}

/// Of an output in bfloat16 whose twin rounds once.
ErrorBounds bounds_of(const Numbers& exact, const OutputRule& rule = {}) {
  const ErrorBounds wide{.rms = 1e300, .element = 1e300, .far = 1e300};
  return error_bounds({}, rule, DType::bfloat16, "normal", compared(each(exact, bf16), exact, wide),
                      rounding_of(exact, info(DType::bfloat16).unit_roundoff));
}

Judgement judged(const Numbers& got, const Numbers& exact, const OutputRule& rule = {}) {
  const ErrorBounds bounds = bounds_of(exact, rule);
  return judge(compared(got, exact, bounds), bounds);
}

/// Exact sums of products of `depth` pairs of small integers, and the same with the two halves rounded first.
struct Products {
  Numbers exact, in_halves;
};
using Draw = std::function<int(std::mt19937_64&)>;

int between(std::mt19937_64& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

Products products(int depth, const Draw& activation, const Draw& weight, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Products result;
  for (int i = 0; i < 4'096; ++i) {
    double halves[2] = {};
    for (int k = 0; k < depth; ++k) halves[2 * k / depth] += activation(random) * weight(random);
    result.exact.push_back(halves[0] + halves[1]);
    result.in_halves.push_back(bf16(bf16(halves[0]) + bf16(halves[1])));
  }
  return result;
}

TEST_CASE("what is typical of few results has the scale of them all, and passes over what is not finite") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<ResultPair> pairs{{3, 3}, {-4, -4.5}, {infinity, infinity}, {0, std::nan("")}};
  const TypicalResult typical = typical_result(pairs);
  const double rms = std::sqrt(12.5);
  CHECK(typical.rms == Approx(rms));
  CHECK(typical.max_error == Approx(0.5 / (4 + rms)));
  CHECK(typical.rms_error == Approx(0.5 / (4 + rms) / std::sqrt(2.0)));
  CHECK(typical_result({}).rms == 0);
}

TEST_CASE("a mantissa of 3 bits is refused for products of 8 and 4 bits under every distribution") {
  const Draw int8 = [](auto& random) { return between(random, -128, 127); };
  const Draw int4 = [](auto& random) { return between(random, -8, 7); };
  const Draw small = [](auto& random) { return between(random, -3, 3); };
  const Draw zero_one = [](auto& random) { return between(random, 0, 1); };
  const Draw outliers = [](auto& random) {
    return between(random, 0, 1023) == 7 ? 127 : between(random, -2, 2);
  };
  const Draw positive = [](auto& random) { return between(random, 0, 15); };
  const std::vector<std::pair<Draw, Draw>> pairs{{int8, int8},         {int8, int4},     {small, int4},
                                                 {zero_one, zero_one}, {zero_one, int4}, {outliers, small},
                                                 {positive, positive}, {small, small}};
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    if (!testing::drawn_today(pair, 4)) continue;
    for (const int depth : {64, 96, 128, 512}) {
      const Products sums = products(depth, pairs[pair].first, pairs[pair].second, pair);
      const Numbers honest = each(sums.exact, bf16);
      const Numbers poor = each(honest, [](double x) { return with_mantissa(x, 3); });
      for (const double floor_ulps : {0.0, 1.0, 2.0, 8.0}) {
        const OutputRule rule{.floor_ulps = floor_ulps};
        INFO("pair " << pair << ", depth " << depth << ", floor_ulps " << floor_ulps);
        CHECK(judged(poor, sums.exact, rule) != Judgement::passed);
        CHECK(judged(honest, sums.exact, rule) == Judgement::passed);
      }
    }
  }
}

TEST_CASE("partial sums that are rounded to bfloat16 are accepted") {
  const Draw int8 = [](auto& random) { return between(random, -128, 127); };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Products sums = products(128, int8, int8, seed);
    CHECK(judged(sums.in_halves, sums.exact) == Judgement::passed);
  }
}

/// A layer norm of rows of `columns` with weight and bias; its honest version in bfloat16 rounds what it
/// normalised before it multiplies, and the product before it adds.
Products norm(int rows, int columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return bf16(normal(random)); };
  Numbers weight, bias;
  for (int i = 0; i < columns; ++i) weight.push_back(draw()), bias.push_back(draw());
  Products result;
  for (int row = 0; row < rows; ++row) {
    Numbers x;
    for (int i = 0; i < columns; ++i) x.push_back(draw());
    double mean = 0, variance = 0;
    for (const double value : x) mean += value / columns;
    for (const double value : x) variance += (value - mean) * (value - mean) / columns;
    for (int i = 0; i < columns; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double normalised = (x[at] - mean) / std::sqrt(variance + 1e-5);
      result.exact.push_back(normalised * weight[at] + bias[at]);
      result.in_halves.push_back(bf16(bf16(bf16(normalised) * weight[at]) + bias[at]));
    }
  }
  return result;
}

TEST_CASE("an honest norm in bfloat16 with rounded intermediates passes on any seed and size") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Products large = norm(256, 1024, seed);
    for (const double floor_ulps : {0.0, 1.0, 2.0}) {
      const OutputRule rule{.floor_ulps = floor_ulps};
      CHECK(judged(large.in_halves, large.exact, rule) == Judgement::passed);
    }
  }
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const int columns : {2, 3, 7, 33, 129}) {
      const Products small = norm(3, columns, seed);
      INFO("seed " << seed << ", columns " << columns);
      CHECK(judged(small.in_halves, small.exact) == Judgement::passed);
    }
  }
}

TEST_CASE("one unlucky element of a million refuses no kernel, many do, and one far off does") {
  Comparison comparison{.count = 1'000'000, .rms_error = 1e-3, .wrong = 1};
  const ErrorBounds bounds{.rms = 1e-2, .element = 0.1, .far = 0.4, .strays = 11, .unequal = 1'000'000};
  CHECK(judge(comparison, bounds) == Judgement::passed);
  comparison.wrong = 12;
  CHECK(judge(comparison, bounds) == Judgement::element);
  comparison.wrong = comparison.far = 1;
  CHECK(judge(comparison, bounds) == Judgement::element);
  CHECK(strays_allowed(1'000'000) == 11);
  CHECK(strays_allowed(1'000) == 1);
  CHECK(strays_allowed(99) == 0);
}

TEST_CASE("integers are equal, or next to it in the share that a problem allows") {
  const Comparison twin{.count = 1'000};
  const ErrorBounds equal = error_bounds({}, {}, DType::int8, "normal", twin, {});
  CHECK(judge({.count = 1'000}, equal) == Judgement::passed);
  CHECK(judge({.count = 1'000, .wrong = 1, .unequal = 1}, equal) == Judgement::element);
  const ErrorBounds most = error_bounds({}, {.equal_share = 0.99}, DType::int8, "normal", twin, {});
  CHECK(judge({.count = 1'000, .wrong = 10, .unequal = 10}, most) == Judgement::passed);
  CHECK(judge({.count = 1'000, .wrong = 11, .unequal = 11}, most) == Judgement::element);
  CHECK(judge({.count = 1'000, .wrong = 1, .far = 1, .unequal = 1}, most) == Judgement::element);
}

TEST_CASE("floating results may have to be exact, under named distributions or in a share") {
  const Comparison twin{.count = 1'000};
  const RoundingError rounding{.rms = 1e-3, .element = 4e-3};
  const auto unequal = [&](const OutputRule& rule, const char* distribution) {
    return error_bounds({}, rule, DType::bfloat16, distribution, twin, rounding).unequal;
  };
  CHECK(unequal({}, "normal") == 1'000);
  CHECK(unequal({.exact = true}, "normal") == 0);
  CHECK(unequal({.exact_on = {"integers"}}, "integers") == 0);
  CHECK(unequal({.exact_on = {"integers"}}, "normal") == 1'000);
  CHECK(unequal({.equal_share = 0.75}, "normal") == 250);
}

TEST_CASE("a stated error bounds every element, and loosens nothing") {
  const Comparison twin{.count = 1'000'000, .max_error = 1e-3, .rms_error = 1e-4};
  const auto bounds = [&](std::optional<double> most_error) {
    Tolerance tolerance;
    tolerance.most_error = most_error;
    return error_bounds(tolerance, {}, DType::bfloat16, "normal", twin, {1e-3, 4e-3});
  };
  const ErrorBounds usual = bounds({}), tight = bounds(1e-4), loose = bounds(1.0);
  CHECK(tight.element == 1e-4);
  CHECK(tight.far == 1e-4);
  CHECK(tight.rms == usual.rms);
  CHECK(loose.element == usual.element);
  CHECK(loose.far == usual.far);
  Comparison one_beyond{.count = 1'000'000, .max_error = 2e-4, .rms_error = 1e-5};
  one_beyond.wrong = one_beyond.far = 1;  // chance excuses some, but not here
  CHECK(judge(one_beyond, tight) == Judgement::element);
}

TEST_CASE("a precision that is permitted inside sets the bounds of a more precise output") {
  const Comparison twin{.count = 1'000, .max_error = 1e-7, .rms_error = 1e-8};
  const auto bound = [&](std::optional<DType> internal) {
    Tolerance tolerance;
    tolerance.internal = internal;
    const double roundoff = info(tolerance.working_type(DType::float32)).unit_roundoff;
    return error_bounds(tolerance, {}, DType::float32, "normal", twin, {roundoff / 4, roundoff}).rms;
  };
  CHECK(bound({}) == Approx(8 * info(DType::float32).unit_roundoff));
  CHECK(bound(DType::bfloat16) ==
        Approx(2 * small_sample_factor(1'000) * info(DType::bfloat16).unit_roundoff));
  CHECK(bound(DType::float64) == bound({}));
}

}  // namespace
}  // namespace ak::runtime
