// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ops/lane_stream.h"

namespace {

using namespace ak::emulator;
using namespace ak::emulator::test;
using Floats = std::vector<float>;
using Reference = long double (*)(long double);

const float kInfinity = std::numeric_limits<float>::infinity();
const float kQuiet = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 0x1p-140f;  ///< subnormal
const long double kPi = 3.141592653589793238462643383279502884L;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Evenly spaced; an odd count leaves out the middle.
Floats between(double low, double high, int count = 30000) {
  Floats all;
  for (int i = 0; i <= count; ++i) all.push_back(static_cast<float>(low + (high - low) * i / count));
  return all;
}
/// Positive floats of all magnitudes, subnormals included, and some that are evenly spaced around 1.
Floats positive() {
  Floats all = between(0.4, 2.5);
  for (std::uint32_t code = 1; code < 0x7F800000u; code += 50021) all.push_back(std::bit_cast<float>(code));
  for (std::uint32_t code = 1; code < 0x00800000u; code += 4001) all.push_back(std::bit_cast<float>(code));
  return all;
}

std::string instruction_of(const std::string& name) { return name + " out, in0"; }

/// Largest error in units that `unit` gives for the exact result.
template <class Unit>
double worst(const std::string& name, const Floats& inputs, Reference reference, Unit unit) {
  const Floats got = stream<float>(instruction_of(name), inputs);
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double exact = reference(static_cast<long double>(inputs[i]));
    if (std::isinf(got[i]) && std::isinf(static_cast<float>(exact))) continue;
    const double error = static_cast<double>(std::fabs(got[i] - exact) / unit(exact));
    if (error > largest || std::isnan(error)) largest = error;
    if (std::isnan(error)) return error;
  }
  return largest;
}
/// Spacing of floats at `exact`.
long double ulp(long double exact) {
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0L, exponent - 23);
}
long double relative(long double exact) { return std::fabs(exact); }
long double absolute(long double) { return 1; }

/// Results of the special inputs, NaNs being the canonical one.
void check_values(const std::string& name, const Floats& inputs, const Floats& expected) {
  const auto got = stream<std::uint32_t>(instruction_of(name), inputs);
  expect_all(
      name, got, [&](std::size_t i) { return std::isnan(expected[i]) ? 0x7FFFFFFFu : bits(expected[i]); },
      [&](std::size_t i) { return fmt::format("{}", inputs[i]); });
}
const Floats kSpecials = {-kInfinity, -kTiny, -0.0f, 0.0f, kTiny, kInfinity, kQuiet, -kQuiet};

TEST_CASE("ex2.approx is within 2 ulp, subnormal results included") {
  CHECK(worst("ex2.approx.f32", between(-151, 129), std::exp2, ulp) <= 2);
  CHECK(worst("ex2.approx.f32", between(-1, 1), std::exp2, ulp) <= 2);
  for (const std::string name : {"ex2.approx.f32", "ex2.approx.ftz.f32"})
    check_values(name, kSpecials, {0, 1, 1, 1, 1, kInfinity, kQuiet, kQuiet});
  check_values("ex2.approx.f32", {10, -149, -151, 128, -1e30f, 1e30f, -127},
               {1024, 0x1p-149f, 0, kInfinity, 0, kInfinity, 0x1p-127f});
  check_values("ex2.approx.ftz.f32", {-127, -126}, {0, 0x1p-126f});
}

TEST_CASE("lg2.approx is within 2^-22, absolute between 0.5 and 2 and relative elsewhere") {
  const auto unit = [](long double exact) { return exact > -1 && exact < 1 ? 1.0L : std::fabs(exact); };
  CHECK(worst("lg2.approx.f32", positive(), std::log2, unit) <= 0x1p-22);
  check_values("lg2.approx.f32", kSpecials,
               {kQuiet, kQuiet, -kInfinity, -kInfinity, -140, kInfinity, kQuiet, kQuiet});
  check_values("lg2.approx.ftz.f32", kSpecials,
               {kQuiet, -kInfinity, -kInfinity, -kInfinity, -kInfinity, kInfinity, kQuiet, kQuiet});
  check_values("lg2.approx.f32", {1, 2, 0.125f, -1}, {0, 1, -3, kQuiet});
}

TEST_CASE("sin.approx and cos.approx keep their bounds within two and a hundred pi") {
  const auto two_pi = static_cast<double>(2 * kPi), hundred_pi = static_cast<double>(100 * kPi);
  CHECK(worst("sin.approx.f32", between(-two_pi, two_pi), std::sin, absolute) <= std::exp2(-20.5));
  CHECK(worst("cos.approx.f32", between(-two_pi, two_pi), std::cos, absolute) <= std::exp2(-20.5));
  CHECK(worst("sin.approx.f32", between(-hundred_pi, hundred_pi), std::sin, absolute) <= std::exp2(-14.7));
  CHECK(worst("cos.approx.f32", between(-hundred_pi, hundred_pi), std::cos, absolute) <= std::exp2(-14.7));
}

TEST_CASE("sin.approx and cos.approx have the manual's special values and stay within 1 anywhere") {
  check_values("sin.approx.f32", kSpecials, {kQuiet, -0.0f, -0.0f, 0, 0, kQuiet, kQuiet, kQuiet});
  check_values("sin.approx.ftz.f32", kSpecials, {kQuiet, -0.0f, -0.0f, 0, 0, kQuiet, kQuiet, kQuiet});
  check_values("cos.approx.f32", kSpecials, {kQuiet, 1, 1, 1, 1, kQuiet, kQuiet, kQuiet});
  check_values("cos.approx.ftz.f32", kSpecials, {kQuiet, 1, 1, 1, 1, kQuiet, kQuiet, kQuiet});
  for (const std::string name : {"sin.approx.f32", "cos.approx.f32"}) {
    for (const float value : stream<float>(instruction_of(name), positive())) {
      if (!(value >= -1 && value <= 1)) FAIL(name << " gives " << value);
    }
  }
}

TEST_CASE("tanh.approx is within 2^-11 of its result and keeps subnormals") {
  CHECK(worst("tanh.approx.f32", between(-12, 12, 30001), std::tanh, relative) <= 0x1p-11);
  CHECK(worst("tanh.approx.f32", positive(), std::tanh, relative) <= 0x1p-11);
  check_values("tanh.approx.f32", kSpecials, {-1, -kTiny, -0.0f, 0, kTiny, 1, kQuiet, kQuiet});
}

TEST_CASE("rcp, rsqrt and sqrt.approx keep their bounds") {
  const auto reciprocal = [](long double x) { return 1 / x; };
  const auto reciprocal_root = [](long double x) { return 1 / std::sqrt(x); };
  CHECK(worst("rcp.approx.f32", positive(), reciprocal, ulp) <= 1);
  CHECK(worst("rsqrt.approx.f32", positive(), reciprocal_root, relative) <= std::exp2(-22.9));
  CHECK(worst("sqrt.approx.f32", positive(), std::sqrt, relative) <= 0x1p-23);
}

TEST_CASE("rcp, rsqrt and sqrt.approx have the manual's special values") {
  check_values("rcp.approx.f32", {-kInfinity, -0.0f, 0, kInfinity, kQuiet, 0x1p127f},
               {-0.0f, -kInfinity, kInfinity, 0, kQuiet, 0x1p-127f});
  check_values("rcp.approx.ftz.f32", {-kTiny, kTiny, 0x1p127f, -0x1p127f}, {-kInfinity, kInfinity, 0, -0.0f});
  check_values("rsqrt.approx.f32", kSpecials,
               {kQuiet, kQuiet, -kInfinity, kInfinity, 0x1p70f, 0, kQuiet, kQuiet});
  check_values("rsqrt.approx.ftz.f32", kSpecials,
               {kQuiet, -kInfinity, -kInfinity, kInfinity, kInfinity, 0, kQuiet, kQuiet});
  check_values("sqrt.approx.f32", kSpecials, {kQuiet, kQuiet, -0.0f, 0, 0x1p-70f, kInfinity, kQuiet, kQuiet});
  check_values("sqrt.approx.ftz.f32", kSpecials, {kQuiet, -0.0f, -0.0f, 0, 0, kInfinity, kQuiet, kQuiet});
}

using Codes = std::vector<std::uint16_t>;
struct HalfCase {
  std::string name;
  float (*decode)(std::uint32_t);
  Reference reference;
  double absolute, relative;  ///< errors that are allowed: either
  float smallest;             ///< allowed in any case: the spacing of subnormals
};

Codes all_codes() {
  Codes codes(1 << 16);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  return codes;
}

TEST_CASE("ex2 and tanh of all halves are within the manual's errors") {
  const auto f16 = [](std::uint32_t code) { return f16_to_float(code); };
  const auto bf16 = [](std::uint32_t code) { return bf16_to_float(code); };
  for (const HalfCase& test : {
           HalfCase{"ex2.approx.f16", f16, std::exp2, 0, std::exp2(-9.9), 0x1p-24f},
           HalfCase{"ex2.approx.ftz.bf16", bf16, std::exp2, 0, 0x1p-7, 0x1p-126f},
           HalfCase{"tanh.approx.f16", f16, std::tanh, std::exp2(-10.987), 0, 0x1p-24f},
           HalfCase{"tanh.approx.bf16", bf16, std::tanh, 0, 0x1p-8, 0x1p-133f},
       }) {
    const Codes inputs = all_codes(), got = stream<std::uint16_t>(instruction_of(test.name), inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float x = test.decode(inputs[i]), result = test.decode(got[i]);
      const long double exact = test.reference(x);
      if (std::isnan(x) ? got[i] == 0x7FFF : std::isinf(result) && exact > test.decode(got[i] - 1u)) continue;
      const long double error = std::fabs(result - exact);
      const bool fine =
          error <= test.absolute || error <= test.relative * std::fabs(exact) || error <= test.smallest;
      if (!fine) FAIL(test.name << " of " << x << " gives " << result);
    }
  }
}

TEST_CASE("Packed ex2 and tanh do to both halves what the single ones do") {
  const Codes low = all_codes();
  std::vector<std::uint32_t> pairs(low.size());
  for (std::size_t i = 0; i < low.size(); ++i)
    pairs[i] = low[i] | std::uint32_t{low[low.size() - 1 - i]} << 16;
  for (const std::string name :
       {"ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"}) {
    const Codes single = stream<std::uint16_t>(instruction_of(name), low);
    expect_all(
        name + "x2", stream<std::uint32_t>(instruction_of(name + "x2"), pairs),
        [&](std::size_t i) { return single[i] | std::uint32_t{single[low.size() - 1 - i]} << 16; },
        [&](std::size_t i) { return fmt::format("{:#x}", pairs[i]); });
  }
}

TEST_CASE("rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 look at the upper halves only") {
  const std::vector<double> inputs = {3, -7, 1e300, 1e-300, 0x1.00000FFFFFFFFp0, 0x1p-1030, -0x1p-1030, -0.0};
  const double infinity = std::numeric_limits<double>::infinity();
  const auto rcp = stream<double>("rcp.approx.ftz.f64 out, in0", inputs);
  const auto rsqrt = stream<double>("rsqrt.approx.ftz.f64 out, in0", inputs);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(std::fabs(rcp[i] * inputs[i] - 1) < 0x1p-19);
    if (inputs[i] > 0) CHECK(std::fabs(rsqrt[i] * std::sqrt(inputs[i]) - 1) < 0x1p-19);
    CHECK(static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(rcp[i])) == 0);
  }
  CHECK(rcp[4] == 1);
  CHECK((rcp[5] == infinity && rcp[6] == -infinity && rcp[7] == -infinity));
  CHECK((rsqrt[5] == infinity && rsqrt[6] == -infinity && rsqrt[7] == -infinity));
  const std::vector<std::uint64_t> nan = {0x7FF8000000000123ull};
  CHECK(stream<std::uint64_t>("rcp.approx.ftz.f64 out, in0", nan)[0] == 0x7FFFFFFF00000000ull);
  CHECK(stream<double>("rcp.approx.ftz.f64 out, in0", std::vector<double>{infinity, 0x1p1023})[1] == 0);
}

TEST_CASE("rsqrt.approx.f64 is good to the last bits") {
  const std::vector<double> inputs = {2, 3, 1e300, 1e-310};
  const auto got = stream<double>("rsqrt.approx.f64 out, in0", inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const long double exact = 1 / std::sqrt(static_cast<long double>(inputs[i]));
    CHECK(std::fabs(got[i] - exact) <= exact * 0x1p-51L);
  }
}

TEST_CASE("Approximate functions that PTX does not have are refused") {
  for (const std::string instruction :
       {"tanh.approx.ftz.f32 %f0, %f1;", "ex2.approx.bf16 %rs0, %rs1;", "ex2.approx.ftz.f16 %rs0, %rs1;",
        "rcp.approx.f64 %fd0, %fd1;", "sqrt.approx.f64 %fd0, %fd1;", "sin.approx.f64 %fd0, %fd1;",
        "sin.f32 %f0, %f1;", "lg2.approx.sat.f32 %f0, %f1;"}) {
    INFO(instruction);
    (void)refusal(instruction);
  }
}

}  // namespace
