// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <catch2/catch.hpp>
#include <cfenv>
#include <random>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ops/lane_stream.h"
#include "tests/emulator/ops/slow_floats.h"
#include "tests/support/daily_sample.h"

namespace {

using namespace ak::emulator;
using namespace ak::emulator::test;

/// 32 random bits (the standard's generator gives them in a wider type).
struct Random {
  std::mt19937 engine;
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
};

template <class T>
auto describe(const std::vector<T>& inputs) {
  return [&inputs](std::size_t i) { return fmt::format("{:#x}", inputs[i]); };
}

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> all;
  for (std::uint32_t code = 0; code < 0x10000; ++code) all.push_back(static_cast<std::uint16_t>(code));
  return all;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
float from_bits(std::uint32_t value) { return std::bit_cast<float>(value); }

/// Every f16 and bf16 as a float, with neighbours and ties half-way to the next, and any floats.
std::vector<std::uint32_t> many_floats() {
  std::vector<std::uint32_t> floats;
  for (std::uint32_t code = 0; code < 0x8000; ++code) {
    const std::uint32_t half = bits(static_cast<float>(slow_f16().value(code)));
    const std::uint32_t sign = (code & 1) << 31;
    for (const std::uint32_t added : {0u, 0xFFFu, 0x1000u, 0x1001u}) floats.push_back((half + added) ^ sign);
    for (const std::uint32_t added : {0u, 0x7FFFu, 0x8000u, 0x8001u})
      floats.push_back(((code << 16) + added) ^ sign);
  }
  Random random{std::mt19937(1)};
  for (int i = 0; i < 50000; ++i) floats.push_back(random());
  for (int i = 0; i < 20000; ++i)  // within f16's subnormals and below
    floats.push_back(0x32000000u + random() % 0x07000000u + (random() & 0x80000000u));
  for (const float value :
       {0.5f,          1.5f,          2.5f,     -0.5f,    2147483648.0f, 2147483520.0f, -2147483648.0f,
        4294967296.0f, 4294967040.0f, 127.5f,   128.0f,   -128.5f,       -129.0f,       255.5f,
        256.0f,        65535.5f,      0x1p63f,  -0x1p63f, 0x1p64f,       448.0f,        464.0f,
        465.0f,        57344.0f,      61440.0f, 65504.0f, 65519.0f,      65520.0f})
    floats.push_back(bits(value));
  return floats;
}

std::vector<std::uint64_t> many_doubles() {
  std::vector<std::uint64_t> doubles;
  std::mt19937_64 random(2);
  for (const std::uint32_t code : many_floats()) {
    if (random() % 8 != 0) continue;
    const auto exact = std::bit_cast<std::uint64_t>(static_cast<double>(from_bits(code)));
    for (const std::uint64_t added : {0ull, 1ull, 0x0FFF'FFFFull, 0x1000'0000ull, 0x1000'0001ull})
      doubles.push_back(exact + added);
  }
  for (int i = 0; i < 20000; ++i) doubles.push_back(random());
  for (const double value : {2147483647.5, 4294967295.5, -2147483648.5, -2147483649.0, 0x1p63, 0x1p64,
                             -0x1p63, 0x1.FFFFFFFFFFFFFp62})
    doubles.push_back(std::bit_cast<std::uint64_t>(value));
  return doubles;
}

std::vector<std::uint64_t> many_integers() {
  std::vector<std::uint64_t> integers{0};
  std::mt19937_64 random(3);
  for (int bit = 0; bit < 64; ++bit)
    for (int more = -1; more <= 1; ++more)
      for (const std::uint64_t sign : {1ull, ~0ull})
        integers.push_back(((1ull << bit) + static_cast<std::uint64_t>(more)) * sign);
  for (int i = 0; i < 20000; ++i) integers.push_back(random() >> random() % 64);
  for (int i = 0; i < 20000; ++i) integers.push_back(0 - (random() >> random() % 64));
  for (int i = 0; i < 20000; ++i) {  // half-way between floats or doubles, or next to that
    const auto top = static_cast<int>(random() % 64);
    const int low = std::max(top - (i % 2 == 0 ? 24 : 53), 0);
    integers.push_back((1ull << top) + (random() % 256 << low << 1) + (1ull << low) + random() % 3 - 1);
  }
  return integers;
}

template <class To, class From>
std::vector<To> narrowed(const std::vector<From>& values) {
  std::vector<To> result;
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

struct FloatRounding {
  std::string name;
  Direction direction;
  int mode;
};
const FloatRounding kRoundings[] = {{"rn", Direction::nearest, FE_TONEAREST},
                                    {"rz", Direction::zero, FE_TOWARDZERO},
                                    {"rm", Direction::down, FE_DOWNWARD},
                                    {"rp", Direction::up, FE_UPWARD}};

/// f(x) with the host rounding as asked.
template <class F>
auto rounded(int mode, F f) {
  std::fesetround(mode);
  volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return static_cast<decltype(f())>(result);
}

std::uint32_t canonical_bits(float value) { return std::isnan(value) ? 0x7FFFFFFFu : bits(value); }

/// Elements wider than a byte cannot be distinguished by a table of codes: formats by their numbers.
struct NarrowFormat {
  std::string type;
  SlowFormat slow;
  int width;  ///< of an element
};
std::vector<NarrowFormat> narrow_formats() {
  return {{"e4m3x2", {4, 3, 7, 0x7E, 0x7F, false}, 8},
          {"e5m2x2", {5, 2, 15, 0x7B, 0x7F, true}, 8},
          {"e2m3x2", {2, 3, 1, 0x1F, 0x1F, false}, 8},
          {"e3m2x2", {3, 2, 3, 0x1F, 0x1F, false}, 8},
          {"e2m1x2", {2, 1, 1, 0x7, 0x7, false}, 4}};
}

std::uint32_t host_narrow(const std::string& type, float value) {
  if (type == "e4m3x2") return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
  if (type == "e5m2x2") return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
  if (type == "e2m3x2") return __nv_cvt_float_to_fp6(value, __NV_E2M3, cudaRoundNearest);
  if (type == "e3m2x2") return __nv_cvt_float_to_fp6(value, __NV_E3M2, cudaRoundNearest);
  return __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest);
}

/// Each `step`th, and the last 100, which are chosen ones.
template <class T>
std::vector<T> every(std::size_t step, const std::vector<T>& all) {
  std::vector<T> some;
  for (std::size_t i = 0; i + 100 < all.size(); i += step) some.push_back(all[i]);
  some.insert(some.end(), all.end() - 100, all.end());
  return some;
}

template <class To>
long double lowest() {
  return static_cast<long double>(std::numeric_limits<To>::min());
}

/// A float as an integer of type To, in the bits of To.
template <class To>
std::uint64_t slow_integer(long double value, int mode, bool from_double) {
  using Bits = std::make_unsigned_t<To>;
  if (std::isnan(value)) return from_double || sizeof(To) == 8 ? std::uint64_t{1} << (8 * sizeof(To) - 1) : 0;
  const long double whole = rounded(mode, [&] { return std::nearbyint(value); });
  if (whole <= lowest<To>()) return static_cast<Bits>(std::numeric_limits<To>::min());
  if (whole >= static_cast<long double>(std::numeric_limits<To>::max()))
    return static_cast<Bits>(std::numeric_limits<To>::max());
  return static_cast<Bits>(static_cast<To>(whole));
}

template <class To>
void check_to_integer(const std::string& type) {
  using Bits = std::make_unsigned_t<To>;
  const auto halves = all_halves();
  const auto floats = every(7, many_floats());
  const auto doubles = every(11, many_doubles());
  constexpr int kRegister = sizeof(To) == 1 ? 16 : 8 * sizeof(To);
  for (const FloatRounding& rounding : kRoundings) {
    const std::string name = "cvt." + rounding.name + "i." + type;
    const auto check = [&](const auto& inputs, const std::string& from, auto value, bool from_double) {
      expect_all(
          name + from, stream<Bits>(name + from + " out, in0", kRegister, inputs),
          [&](std::size_t i) { return slow_integer<To>(value(inputs[i]), rounding.mode, from_double); },
          describe(inputs));
    };
    check(
        halves, ".f16", [](std::uint16_t code) { return slow_f16().value(code); }, false);
    check(
        halves, ".bf16", [](std::uint16_t code) { return slow_bf16().value(code); }, false);
    check(
        floats, ".f32", [](std::uint32_t code) { return static_cast<long double>(from_bits(code)); }, false);
    check(
        doubles, ".f64",
        [](std::uint64_t code) { return static_cast<long double>(std::bit_cast<double>(code)); }, true);
  }
}

template <class From>
void check_from_integer(const std::string& type) {
  using Bits = std::make_unsigned_t<From>;
  const auto inputs = narrowed<Bits>(many_integers());
  // Loads of 8 bits need a wider register.
  const auto sources = narrowed<std::conditional_t<sizeof(From) == 1, std::uint16_t, Bits>>(inputs);
  const auto number = [&](std::size_t i) { return static_cast<From>(inputs[i]); };
  for (const FloatRounding& rounding : kRoundings) {
    const std::string name = "cvt." + rounding.name;
    const auto half_of = [&](const SlowFormat& format) {
      return [&](std::size_t i) {
        return format.round(static_cast<long double>(number(i)), 0, rounding.direction);
      };
    };
    expect_all(name + ".f16." + type, stream<std::uint16_t>(name + ".f16." + type + " out, in0", sources),
               half_of(slow_f16()), describe(inputs));
    expect_all(name + ".bf16." + type, stream<std::uint16_t>(name + ".bf16." + type + " out, in0", sources),
               half_of(slow_bf16()), describe(inputs));
    expect_all(
        name + ".f32." + type, stream<std::uint32_t>(name + ".f32." + type + " out, in0", sources),
        [&](std::size_t i) {
          volatile From value = number(i);
          return bits(rounded(rounding.mode, [&] { return static_cast<float>(value); }));
        },
        describe(inputs));
    expect_all(
        name + ".f64." + type, stream<std::uint64_t>(name + ".f64." + type + " out, in0", sources),
        [&](std::size_t i) {
          volatile From value = number(i);
          return std::bit_cast<std::uint64_t>(
              rounded(rounding.mode, [&] { return static_cast<double>(value); }));
        },
        describe(inputs));
  }
}

struct IntegerType {
  std::string name;
  int bits;
  bool is_signed;
};
const IntegerType kIntegers[] = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                 {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                 {"u64", 64, false}, {"s64", 64, true}};

__extension__ using Wide = __int128;

Wide value_of(std::uint64_t lane, const IntegerType& type) {
  const Wide value = type.bits == 64 ? Wide{lane} : Wide{lane & ((1ull << type.bits) - 1)};
  return type.is_signed && (value >> (type.bits - 1)) != 0 ? value - (Wide{1} << type.bits) : value;
}

/// The low bits of a register of `reg` bits after a conversion.
std::uint64_t slow_convert(std::uint64_t lane, const IntegerType& to, const IntegerType& from, bool sat,
                           int reg) {
  Wide value = value_of(lane, from);
  const Wide low = to.is_signed ? -(Wide{1} << (to.bits - 1)) : Wide{0};
  const Wide high = (Wide{1} << (to.is_signed ? to.bits - 1 : to.bits)) - 1;
  if (sat) value = std::min(std::max(value, low), high);
  const Wide extended = value_of(static_cast<std::uint64_t>(value), to);
  const auto result = static_cast<std::uint64_t>(extended);
  return reg == 64 ? result : result & ((1ull << reg) - 1);
}

template <class Register>
void check_integers_into(const std::string& sat, const IntegerType& to, const IntegerType& from) {
  const int reg = 8 * sizeof(Register);
  if (reg < to.bits) return;
  const std::string name = "cvt" + sat + "." + to.name + "." + from.name;
  const auto check = [&](const auto& inputs) {
    expect_all(
        fmt::format("{} into .b{}", name, reg), stream<Register>(name + " out, in0", inputs),
        [&](std::size_t i) { return slow_convert(inputs[i], to, from, !sat.empty(), reg); },
        describe(inputs));
  };
  auto all = many_integers();
  all.resize(3000);
  check(all);
  if (from.bits <= 32) check(narrowed<std::uint32_t>(all));
  if (from.bits <= 16) check(narrowed<std::uint16_t>(all));
}

}  // namespace

TEST_CASE("cvt between integers truncates or saturates, and extends to the register") {
  for (const IntegerType& to : kIntegers)
    for (const IntegerType& from : kIntegers)
      for (const std::string sat : {"", ".sat"}) {
        check_integers_into<std::uint16_t>(sat, to, from);
        check_integers_into<std::uint32_t>(sat, to, from);
        check_integers_into<std::uint64_t>(sat, to, from);
      }
}

TEST_CASE("cvt from floats to integers rounds, clamps and has its values for NaN") {
  check_to_integer<std::int8_t>("s8");
  check_to_integer<std::uint8_t>("u8");
  check_to_integer<std::int16_t>("s16");
  check_to_integer<std::uint16_t>("u16");
  check_to_integer<std::int32_t>("s32");
  check_to_integer<std::uint32_t>("u32");
  check_to_integer<std::int64_t>("s64");
  check_to_integer<std::uint64_t>("u64");
}

TEST_CASE("cvt from floats to narrow integers extends them to the register") {
  const std::vector<float> values{-3.7f, 300.0f, -1000.0f, 7.2f};
  CHECK(stream<std::uint32_t>("cvt.rzi.s8.f32 out, in0", values) ==
        std::vector<std::uint32_t>{0xFFFFFFFDu, 127u, 0xFFFFFF80u, 7u});
  CHECK(stream<std::uint16_t>("cvt.rzi.s8.f32 out, in0", values) ==
        std::vector<std::uint16_t>{0xFFFD, 127, 0xFF80, 7});
  CHECK(stream<std::uint32_t>("cvt.rzi.u8.f32 out, in0", values) == std::vector<std::uint32_t>{0, 255, 0, 7});
  const std::vector<std::uint32_t> subnormal{0x00000001u, 0x80000001u};
  CHECK(stream<std::uint32_t>("cvt.rpi.s32.f32 out, in0", subnormal) == std::vector<std::uint32_t>{1, 0});
  CHECK(stream<std::uint32_t>("cvt.rpi.ftz.s32.f32 out, in0", subnormal) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("cvt from integers to floats rounds once") {
  check_from_integer<std::int8_t>("s8");
  check_from_integer<std::uint8_t>("u8");
  check_from_integer<std::int16_t>("s16");
  check_from_integer<std::uint16_t>("u16");
  check_from_integer<std::int32_t>("s32");
  check_from_integer<std::uint32_t>("u32");
  check_from_integer<std::int64_t>("s64");
  check_from_integer<std::uint64_t>("u64");
}

TEST_CASE("cvt from integers with .sat clamps to [0, 1]") {
  const std::vector<std::int32_t> values{-5, 0, 1, 9};
  CHECK(stream<float>("cvt.rn.sat.f32.s32 out, in0", values) == std::vector<float>{0, 0, 1, 1});
}

TEST_CASE("cvt to halves rounds once in every direction") {
  const auto floats = many_floats();
  const auto doubles = many_doubles();
  for (const auto& [type, format] : {std::pair{"f16", &slow_f16()}, std::pair{"bf16", &slow_bf16()}})
    for (const FloatRounding& rounding : kRoundings) {
      const std::string name = "cvt." + rounding.name + "." + type;
      expect_all(
          name + ".f32", stream<std::uint16_t>(name + ".f32 out, in0", floats),
          [&](std::size_t i) { return format->round(from_bits(floats[i]), 0, rounding.direction); },
          describe(floats));
      expect_all(
          name + ".f64", stream<std::uint16_t>(name + ".f64 out, in0", doubles),
          [&](std::size_t i) {
            return format->round(std::bit_cast<double>(doubles[i]), 0, rounding.direction);
          },
          describe(doubles));
    }
  expect_all(
      "cvt.rn.f16.f32 of the host", stream<std::uint16_t>("cvt.rn.f16.f32 out, in0", floats),
      [&](std::size_t i) { return __half_raw(__float2half_rn(from_bits(floats[i]))).x; }, describe(floats));
  expect_all(
      "cvt.rn.bf16.f32 of the host", stream<std::uint16_t>("cvt.rn.bf16.f32 out, in0", floats),
      [&](std::size_t i) { return __nv_bfloat16_raw(__float2bfloat16_rn(from_bits(floats[i]))).x; },
      describe(floats));
  const auto halves = all_halves();
  expect_all(
      "cvt.rn.bf16.f16", stream<std::uint16_t>("cvt.rn.bf16.f16 out, in0", halves),
      [&](std::size_t i) { return slow_bf16().round(slow_f16().value(halves[i]), 0, Direction::nearest); },
      describe(halves));
  expect_all(
      "cvt.rz.f16.bf16", stream<std::uint16_t>("cvt.rz.f16.bf16 out, in0", halves),
      [&](std::size_t i) { return slow_f16().round(slow_bf16().value(halves[i]), 0, Direction::zero); },
      describe(halves));
}

TEST_CASE("cvt to wider floats is exact") {
  const auto halves = all_halves();
  const auto floats = many_floats();
  expect_all(
      "cvt.f32.f16", stream<std::uint32_t>("cvt.f32.f16 out, in0", halves),
      [&](std::size_t i) { return canonical_bits(static_cast<float>(slow_f16().value(halves[i]))); },
      describe(halves));
  expect_all(
      "cvt.f32.bf16", stream<std::uint32_t>("cvt.f32.bf16 out, in0", halves),
      [&](std::size_t i) { return std::uint32_t{halves[i]} << 16; }, describe(halves));
  const auto wide = stream<double>("cvt.f64.f32 out, in0", floats);
  const auto wide_halves = stream<double>("cvt.f64.f16 out, in0", halves);
  const auto same = [](double a, double b) {
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
  };
  for (std::size_t i = 0; i < floats.size(); ++i)
    if (!same(wide[i], static_cast<double>(from_bits(floats[i])))) FAIL("cvt.f64.f32 of " << floats[i]);
  for (std::size_t i = 0; i < halves.size(); ++i)
    if (!same(wide_halves[i], static_cast<double>(slow_f16().value(halves[i]))))
      FAIL("cvt.f64.f16 of " << halves[i]);
}

TEST_CASE("cvt from f64 to f32 rounds once in every direction, and may flush or clamp") {
  const auto doubles = many_doubles();
  for (const FloatRounding& rounding : kRoundings)
    for (const std::string modifier : {"", ".ftz", ".sat", ".ftz.sat"}) {
      const std::string name = "cvt." + rounding.name + modifier + ".f32.f64";
      expect_all(
          name, stream<std::uint32_t>(name + " out, in0", doubles),
          [&](std::size_t i) {
            volatile double value = std::bit_cast<double>(doubles[i]);
            float result = rounded(rounding.mode, [&] { return static_cast<float>(value); });
            if (modifier.find("sat") != std::string::npos)
              result = !(result > 0) ? 0.0f : std::min(result, 1.0f);
            if (modifier.starts_with(".ftz") && std::fabs(result) < 0x1p-126f)
              result = std::copysign(0.0f, result);
            return canonical_bits(result);
          },
          describe(doubles));
    }
}

TEST_CASE("cvt to the same float type makes numbers whole, flushes or clamps them") {
  const auto floats = many_floats();
  for (const FloatRounding& rounding : kRoundings) {
    const std::string name = "cvt." + rounding.name + "i.f32.f32";
    expect_all(
        name, stream<std::uint32_t>(name + " out, in0", floats),
        [&](std::size_t i) {
          volatile float value = from_bits(floats[i]);
          const float result = rounded(rounding.mode, [&] { return std::nearbyint(value); });
          return canonical_bits(result);
        },
        describe(floats));
  }
  const std::vector<float> values{-1.5f, 0.25f, 3.0f, NAN};
  CHECK(stream<float>("cvt.sat.f32.f32 out, in0", values) == std::vector<float>{0, 0.25f, 1, 0});
  const std::vector<std::uint32_t> small{0x80000001u, 0x007FFFFFu, 0x00800000u};
  CHECK(stream<std::uint32_t>("cvt.ftz.f32.f32 out, in0", small) ==
        std::vector<std::uint32_t>{0x80000000u, 0u, 0x00800000u});
  CHECK(stream<double>("cvt.rmi.f64.f64 out, in0", std::vector<double>{-1.5, 2.75, 0x1p60}) ==
        std::vector<double>{-2, 2, 0x1p60});
  CHECK(
      stream<std::uint16_t>("cvt.rni.f16.f16 out, in0", std::vector<std::uint16_t>{0x3E00, 0x4100, 0xB800}) ==
      std::vector<std::uint16_t>{0x4000, 0x4000, 0x8000});  // 1.5 2.5 -0.5 -> 2 2 -0
}

TEST_CASE("cvt of two floats to a pair of halves puts the first above the second") {
  constexpr std::size_t kTurns = 5;  // days in which every value is tried; neighbours come in fours
  const std::vector<std::uint32_t> all = many_floats();
  std::vector<std::uint32_t> a;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (ak::testing::drawn_today(i, kTurns)) a.push_back(all[i]);
  const std::vector<std::uint32_t> b(a.rbegin(), a.rend());
  const auto describe_pair = [&](std::size_t i) { return fmt::format("{:#x} {:#x}", a[i], b[i]); };
  for (const auto& [type, format] : {std::pair{"f16", &slow_f16()}, std::pair{"bf16", &slow_bf16()}})
    for (const std::string rounding : {"rn", "rz"})
      for (const std::string modifier : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
        const Direction direction = rounding == "rn" ? Direction::nearest : Direction::zero;
        const auto half_of = [&](std::uint32_t code) {
          float value = from_bits(code);
          if (modifier.starts_with(".relu") && value <= 0) value = 0;
          return format->round(value, 0, direction, modifier.ends_with("satfinite"));
        };
        const std::string name = "cvt." + rounding + modifier + "." + type;
        expect_all(
            name + "x2", stream<std::uint32_t>(name + "x2.f32 out, in0, in1", a, b),
            [&](std::size_t i) { return half_of(a[i]) << 16 | half_of(b[i]); }, describe_pair);
        expect_all(
            name, stream<std::uint16_t>(name + ".f32 out, in0", a),
            [&](std::size_t i) { return half_of(a[i]); }, describe_pair);
      }
}

TEST_CASE("cvt to tf32 keeps ten bits of the mantissa") {
  const auto floats = many_floats();
  const SlowFormat tf32(8, 10, 127, 0x3FBFF, 0x3FFFF, true);
  const std::tuple<std::string, Direction, bool, bool> forms[] = {
      {"rna", Direction::away, false, false},
      {"rn", Direction::nearest, false, false},
      {"rz", Direction::zero, false, false},
      {"rn.relu", Direction::nearest, true, false},
      {"rna.satfinite", Direction::away, false, true}};
  for (const auto& [modifiers, direction, relu, satfinite] : forms) {
    const std::string name = "cvt." + modifiers + ".tf32.f32";
    expect_all(
        name, stream<std::uint32_t>(name + " out, in0", floats),
        [&, d = direction, r = relu, s = satfinite](std::size_t i) {
          float value = from_bits(floats[i]);
          if (r && value <= 0) value = 0;
          // A GPU rounds the payload too: one that becomes nothing leaves an infinity.
          const bool lost = std::isnan(value) && d == Direction::away && (floats[i] & 0x7FFFFFu) < 0x1000u;
          if (lost) value = from_bits(floats[i] & 0xFF800000u);
          return std::isnan(value) ? 0x7FFFFFFFu : tf32.round(value, 0, d, s) << 13;
        },
        describe(floats));
  }
}

TEST_CASE("cvt to pairs of 8, 6 and 4 bits rounds to nearest and saturates") {
  const auto a = many_floats();
  const std::vector<std::uint32_t> b(a.rbegin(), a.rend());
  const auto describe_pair = [&](std::size_t i) { return fmt::format("{:#x} {:#x}", a[i], b[i]); };
  for (const NarrowFormat& format : narrow_formats())
    for (const bool relu : {false, true}) {
      const auto element = [&](std::uint32_t code) {
        float value = from_bits(code);
        if (relu && value <= 0) value = 0;
        return format.slow.round(value, 0, Direction::nearest, true);
      };
      const std::string name =
          std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + format.type + ".f32";
      const auto got = stream<std::uint16_t>(name + " out, in0, in1", a, b);
      expect_all(
          name, got, [&](std::size_t i) { return element(a[i]) << format.width | element(b[i]); },
          describe_pair);
      if (relu) continue;
      expect_all(
          name + " of the host", got,
          [&](std::size_t i) {
            return host_narrow(format.type, from_bits(a[i])) << format.width |
                   host_narrow(format.type, from_bits(b[i]));
          },
          describe_pair);
    }
}

TEST_CASE("cvt between pairs of halves and of 8 bits and less") {
  std::vector<std::uint32_t> halves;
  for (std::uint32_t code = 0; code < 0x10000; ++code)
    halves.push_back(code | (code * 40503u & 0xFFFFu) << 16);
  std::vector<std::uint16_t> pairs;
  for (std::uint32_t code = 0; code < 0x10000; ++code) pairs.push_back(static_cast<std::uint16_t>(code));
  for (const NarrowFormat& format : narrow_formats()) {
    const auto half_of = [&](std::uint32_t code) {
      const std::uint32_t element = format.width == 4                                ? code & 0xFu
                                    : format.type[1] == '2' || format.type[1] == '3' ? code & 0x3Fu
                                                                                     : code;
      return slow_f16().round(format.slow.value(element), 0, Direction::nearest);
    };
    const std::string widen = "cvt.rn.f16x2." + format.type;
    expect_all(
        widen, stream<std::uint32_t>(widen + " out, in0", pairs),
        [&](std::size_t i) {
          const std::uint32_t mask = (1u << format.width) - 1;
          return half_of(pairs[i] & mask) |
                 half_of(static_cast<std::uint32_t>(pairs[i]) >> format.width & mask) << 16;
        },
        describe(pairs));
    if (format.type[1] != '4' && format.type[1] != '5') continue;
    const auto element = [&](std::uint32_t code) {
      return format.slow.round(slow_f16().value(code), 0, Direction::nearest, true);
    };
    const std::string narrow = "cvt.rn.satfinite." + format.type + ".f16x2";
    expect_all(
        narrow, stream<std::uint16_t>(narrow + " out, in0", halves),
        [&](std::size_t i) { return element(halves[i] & 0xFFFFu) | element(halves[i] >> 16) << 8; },
        describe(halves));
  }
}

TEST_CASE("cvt to and from powers of two as ue8m0") {
  const auto a = many_floats();
  const std::vector<std::uint32_t> b(a.rbegin(), a.rend());
  const auto describe_pair = [&](std::size_t i) { return fmt::format("{:#x} {:#x}", a[i], b[i]); };
  for (const std::string rounding : {"rp", "rz"})
    for (const bool satfinite : {false, true}) {
      const auto element = [&](std::uint32_t code) -> std::uint32_t {
        return __nv_cvt_float_to_e8m0(from_bits(code), satfinite ? __NV_SATFINITE : __NV_NOSAT,
                                      rounding == "rp" ? cudaRoundPosInf : cudaRoundZero);
      };
      const std::string name = "cvt." + rounding + (satfinite ? ".satfinite" : "") + ".ue8m0x2";
      expect_all(
          name, stream<std::uint16_t>(name + ".f32 out, in0, in1", a, b),
          [&](std::size_t i) { return element(a[i]) << 8 | element(b[i]); }, describe_pair);
      std::vector<std::uint32_t> halves;
      for (std::uint32_t code = 0; code < 0x10000; ++code)
        halves.push_back(code | (code * 40503u & 0xFFFFu) << 16);
      expect_all(
          name, stream<std::uint16_t>(name + ".bf16x2 out, in0", halves),
          [&](std::size_t i) { return element(halves[i] & 0xFFFF0000u) << 8 | element(halves[i] << 16); },
          describe(halves));
    }
  const std::vector<std::uint16_t> codes{0x0100, 0x7F80, 0xFFFE};
  CHECK(stream<std::uint32_t>("cvt.rn.bf16x2.ue8m0x2 out, in0", codes) ==
        std::vector<std::uint32_t>{0x00800040u, 0x3F804000u, 0x7FFF7F00u});
}

TEST_CASE("cvt.pack clamps two integers and puts them below a third") {
  const std::vector<std::int32_t> a{-1, 300, 40000, -40000, 5}, b{70000, -200, 127, 3, -6};
  const std::vector<std::uint32_t> c{0x12345678u, 0xFFFFFFFFu, 0u, 0xABCDEF01u, 0x00000007u};
  CHECK(stream<std::uint32_t>("cvt.pack.sat.u16.s32 out, in0, in1", a, b) ==
        std::vector<std::uint32_t>{0x0000FFFFu, 0x012C0000u, 0x9C40007Fu, 0x00000003u, 0x00050000u});
  CHECK(stream<std::uint32_t>("cvt.pack.sat.s16.s32 out, in0, in1", a, b) ==
        std::vector<std::uint32_t>{0xFFFF7FFFu, 0x012CFF38u, 0x7FFF007Fu, 0x80000003u, 0x0005FFFAu});
  CHECK(stream<std::uint32_t>("cvt.pack.sat.s8.s32.b32 out, in0, in1, in2", a, b, c) ==
        std::vector<std::uint32_t>{0x5678FF7Fu, 0xFFFF7F80u, 0x00007F7Fu, 0xEF018003u, 0x000705FAu});
  CHECK(stream<std::uint32_t>("cvt.pack.sat.u4.s32.b32 out, in0, in1, in2", a, b, c) ==
        std::vector<std::uint32_t>{0x3456780Fu, 0xFFFFFFF0u, 0x000000FFu, 0xCDEF0103u, 0x00000750u});
  CHECK(stream<std::uint32_t>("cvt.pack.sat.s2.s32.b32 out, in0, in1, in2", a, b, c) ==
        std::vector<std::uint32_t>{0x2345678Du, 0xFFFFFFF6u, 0x00000005u, 0xBCDEF019u, 0x00000076u});
}

TEST_CASE("conversions that are not covered are refused") {
  for (const std::string text :
       {"cvt.rs.f16x2.f32 %r0, %f1, %f2, %r3;", "cvt.f16.f32 %rs0, %f1;", "cvt.s32.f32 %r0, %f1;",
        "cvt.f32.s32 %f0, %r1;", "cvt.rn.e4m3x2.f32 %rs0, %f1, %f2;", "cvt.rn.relu.f32.f64 %f0, %fd1;",
        "cvt.rna.f16.f32 %rs0, %f1;", "cvt.rn.satfinite.e2m1x2.f16x2 %rs0, %r1;",
        "cvt.rni.f32.f64 %f0, %fd1;", "cvt.sat.rn.u8.u32 %rs0, %r1;"}) {
    INFO(text);
    CHECK(refusal(text).status == ak::Status::unsupported);
  }
}
