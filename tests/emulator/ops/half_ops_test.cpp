// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cfenv>
#include <random>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ops/lane_stream.h"
#include "tests/emulator/ops/slow_floats.h"

namespace {

using namespace ak::emulator;
using namespace ak::emulator::test;

/// 32 random bits (the standard's generator gives them in a wider type).
struct Random {
  std::mt19937 engine;
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
};
using Codes = std::vector<std::uint16_t>;

struct Kind {
  std::string type;
  const SlowFormat& format;
  int mantissa_bits;
  std::uint16_t infinity;
};
const Kind& f16() {
  static const Kind kind{"f16", slow_f16(), 10, 0x7C00};
  return kind;
}
const Kind& bf16() {
  static const Kind kind{"bf16", slow_bf16(), 7, 0x7F80};
  return kind;
}

/// Zeros, ones, the smallest, the largest, infinities, NaNs and neighbours of powers of two, with both signs.
Codes special_codes(const Kind& kind) {
  const int one = kind.infinity / 2 & ~((1 << kind.mantissa_bits) - 1), step = 1 << kind.mantissa_bits;
  Codes codes;
  for (const int code : {0,
                         1,
                         2,
                         3,
                         step / 2,
                         step - 1,
                         step,
                         step + 1,
                         2 * step + 1,
                         one - 4 * step + 1,
                         one - 1,
                         one,
                         one + 1,
                         one + 2,
                         one + step / 2,
                         one + step - 1,
                         one + 3 * step + 1,
                         kind.infinity - step,
                         kind.infinity - 1,
                         int{kind.infinity},
                         kind.infinity + 1,
                         0x7FFF}) {
    codes.push_back(static_cast<std::uint16_t>(code));
    codes.push_back(static_cast<std::uint16_t>(code | 0x8000));
  }
  return codes;
}

struct Inputs {
  Codes a, b, c;
};

/// Every code as a, with any b and c of which many are near enough to a for ties and cancellation; and
/// all special triples.
Inputs make_inputs(const Kind& kind, std::uint32_t seed) {
  Random random{std::mt19937(seed)};
  Inputs inputs;
  const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    inputs.a.push_back(static_cast<std::uint16_t>(a));
    inputs.b.push_back(static_cast<std::uint16_t>(b));
    inputs.c.push_back(static_cast<std::uint16_t>(c));
  };
  for (std::uint32_t code = 0; code < 0x10000; ++code) add(code, random(), random());
  const std::uint32_t one = kind.infinity / 2u;
  const auto near_one = [&] { return one + random() % (4u << kind.mantissa_bits) + (random() & 0x8000u); };
  for (int i = 0; i < 30000; ++i) add(near_one(), near_one(), near_one());
  for (int i = 0; i < 30000; ++i)  // products at or below the rounding of c
    add(near_one(), near_one() - (10u << kind.mantissa_bits), near_one());
  const Codes special = special_codes(kind);
  for (const auto a : special)
    for (const auto b : special)
      for (const auto c : special) add(a, b, c);
  return inputs;
}

struct Modifiers {
  bool ftz = false, sat = false, relu = false;
  [[nodiscard]] std::string text() const {
    return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : "");
  }
};

std::uint16_t flush(const Kind& kind, std::uint32_t code, bool ftz) {
  const bool small = (code & kind.infinity) == 0;
  return static_cast<std::uint16_t>(ftz && small ? code & 0x8000u : code);
}

std::uint16_t finish(const Kind& kind, long double sum, long double error, const Modifiers& modifiers) {
  // A GPU flushes what is too small when rounded to the mantissa's bits, whatever a subnormal would hold.
  const long double least = kind.format.value(1u << kind.mantissa_bits);
  const long double rounds_up = least - std::ldexp(least, -kind.mantissa_bits - 2);
  const bool below =
      std::abs(sum) < rounds_up || (std::abs(sum) == rounds_up && error != 0 && (error < 0) == (sum > 0));
  const std::uint16_t code =
      modifiers.ftz && below ? static_cast<std::uint16_t>(std::signbit(sum) ? 0x8000u : 0u)
                             : flush(kind, kind.format.round(sum, error, Direction::nearest), modifiers.ftz);
  const long double value = kind.format.value(code);
  if (modifiers.sat) {
    if (!(value > 0)) return 0;
    return value > 1 ? static_cast<std::uint16_t>(kind.format.round(1, 0, Direction::nearest)) : code;
  }
  return modifiers.relu && value <= 0 ? std::uint16_t{0} : code;
}

/// a * b + c: products of halves are exact in long double, and so is what their sum with c loses.
std::uint16_t slow_fma(const Kind& kind, std::uint16_t a, std::uint16_t b, std::uint16_t c,
                       const Modifiers& modifiers) {
  const long double product =
      kind.format.value(flush(kind, a, modifiers.ftz)) * kind.format.value(flush(kind, b, modifiers.ftz));
  const long double addend = kind.format.value(flush(kind, c, modifiers.ftz));
  const long double sum = product + addend, part = sum - product;
  const long double error = (product - (sum - part)) + (addend - part);
  return finish(kind, sum, std::isnan(error) ? 0 : error, modifiers);
}

std::string describe(const Inputs& inputs, std::size_t i) {
  return fmt::format("{:#06x} {:#06x} {:#06x}", inputs.a[i], inputs.b[i], inputs.c[i]);
}

void check_arithmetic(const Kind& kind, const Modifiers& modifiers) {
  const Inputs inputs = make_inputs(kind, 1);
  const std::uint16_t one = kind.type == "f16" ? 0x3C00 : 0x3F80;
  const auto check = [&](const std::string& name, const Codes& got, auto expected) {
    expect_all(name, got, expected, [&](std::size_t i) { return describe(inputs, i); });
  };
  const std::string suffix = modifiers.text() + "." + kind.type;
  check("fma.rn" + suffix,
        stream<std::uint16_t>("fma.rn" + suffix + " out, in0, in1, in2", inputs.a, inputs.b, inputs.c),
        [&](std::size_t i) { return slow_fma(kind, inputs.a[i], inputs.b[i], inputs.c[i], modifiers); });
  if (modifiers.relu) return;
  check("add" + suffix, stream<std::uint16_t>("add" + suffix + " out, in0, in1", inputs.a, inputs.b),
        [&](std::size_t i) { return slow_fma(kind, inputs.a[i], one, inputs.b[i], modifiers); });
  check("sub.rn" + suffix, stream<std::uint16_t>("sub.rn" + suffix + " out, in0, in1", inputs.a, inputs.b),
        [&](std::size_t i) { return slow_fma(kind, inputs.b[i], one | 0x8000, inputs.a[i], modifiers); });
  // The sign of a zero product is that of the product: -0 is what adding does not change.
  check("mul" + suffix, stream<std::uint16_t>("mul" + suffix + " out, in0, in1", inputs.a, inputs.b),
        [&](std::size_t i) { return slow_fma(kind, inputs.a[i], inputs.b[i], 0x8000, modifiers); });
}

std::vector<std::uint32_t> pairs_of(const Codes& codes) {
  std::vector<std::uint32_t> pairs;
  for (std::size_t i = 0; i < codes.size(); ++i)
    pairs.push_back(codes[i] | std::uint32_t{codes[codes.size() - 1 - i]} << 16);
  return pairs;
}

std::uint16_t slow_extreme(const Kind& kind, bool max, std::uint16_t a, std::uint16_t b, bool nan,
                           bool xorsign) {
  const int sign = xorsign ? (a ^ b) & 0x8000 : 0;
  if (xorsign) {
    a &= 0x7FFF;
    b &= 0x7FFF;
  }
  const long double x = kind.format.value(a), y = kind.format.value(b);
  if (std::isnan(x) && std::isnan(y)) return 0x7FFF;
  if (std::isnan(x) || std::isnan(y)) {
    if (nan) return 0x7FFF;
    return static_cast<std::uint16_t>((std::isnan(x) ? b : a) | sign);
  }
  const bool first_less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return static_cast<std::uint16_t>((first_less != max ? a : b) | sign);
}

}  // namespace

TEST_CASE("f16 arithmetic rounds the exact result once") {
  check_arithmetic(f16(), {});
  check_arithmetic(f16(), {.ftz = true});
  check_arithmetic(f16(), {.sat = true});
  check_arithmetic(f16(), {.ftz = true, .sat = true});
  check_arithmetic(f16(), {.relu = true});
}

TEST_CASE("bf16 arithmetic rounds the exact result once") {
  check_arithmetic(bf16(), {});
  check_arithmetic(bf16(), {.relu = true});
}

TEST_CASE("packed halves are computed as two") {
  for (const Kind* kind : {&f16(), &bf16()}) {
    const Inputs inputs = make_inputs(*kind, 2);
    const auto a = pairs_of(inputs.a), b = pairs_of(inputs.b), c = pairs_of(inputs.c);
    const std::string type = "." + kind->type;
    const auto describe_pair = [&](std::size_t i) {
      return fmt::format("{:#x} {:#x} {:#x}", a[i], b[i], c[i]);
    };
    for (const std::string operation : {"fma.rn", "fma.rn.relu", "add", "sub", "mul", "min", "max", "min.NaN",
                                        "max.xorsign.abs", "neg", "abs"}) {
      const std::string operands = operation.starts_with("fma")               ? " out, in0, in1, in2"
                                   : operation == "neg" || operation == "abs" ? " out, in0"
                                                                              : " out, in0, in1";
      const auto single = stream<std::uint16_t>(operation + type + operands, inputs.a, inputs.b, inputs.c);
      const auto packed = stream<std::uint32_t>(operation + type + "x2" + operands, a, b, c);
      expect_all(
          operation + type + "x2", packed,
          [&](std::size_t i) { return single[i] | std::uint32_t{single[single.size() - 1 - i]} << 16; },
          describe_pair);
    }
  }
}

TEST_CASE("min and max of halves order zeros and treat NaN as asked") {
  for (const Kind* kind : {&f16(), &bf16()}) {
    const Inputs inputs = make_inputs(*kind, 3);
    for (const bool max : {false, true})
      for (const bool nan : {false, true})
        for (const bool xorsign : {false, true}) {
          const std::string name = std::string(max ? "max" : "min") + (nan ? ".NaN" : "") +
                                   (xorsign ? ".xorsign.abs" : "") + "." + kind->type;
          expect_all(
              name, stream<std::uint16_t>(name + " out, in0, in1", inputs.a, inputs.b),
              [&](std::size_t i) { return slow_extreme(*kind, max, inputs.a[i], inputs.b[i], nan, xorsign); },
              [&](std::size_t i) { return describe(inputs, i); });
        }
  }
  const Codes a{0x0001, 0x8001, 0x03FF}, b{0x8002, 0x0001, 0x0400};
  CHECK(stream<std::uint16_t>("min.ftz.f16 out, in0, in1", a, b) == Codes{0x8000, 0x8000, 0x0000});
}

TEST_CASE("neg and abs of halves change the sign alone") {
  Codes all;
  for (std::uint32_t code = 0; code < 0x10000; ++code) all.push_back(static_cast<std::uint16_t>(code));
  const auto describe_code = [&](std::size_t i) { return fmt::format("{:#x}", i); };
  for (const std::string type : {"f16", "bf16"}) {
    expect_all(
        "neg." + type, stream<std::uint16_t>("neg." + type + " out, in0", all),
        [](std::size_t i) { return i ^ 0x8000; }, describe_code);
    expect_all(
        "abs." + type, stream<std::uint16_t>("abs." + type + " out, in0", all),
        [](std::size_t i) { return i & 0x7FFF; }, describe_code);
  }
  expect_all(
      "neg.ftz.f16", stream<std::uint16_t>("neg.ftz.f16 out, in0", all),
      [](std::size_t i) { return (flush(f16(), static_cast<std::uint32_t>(i), true)) ^ 0x8000; },
      describe_code);
}

TEST_CASE("sums of a half and a float round once in the direction asked for") {
  Random random{std::mt19937(4)};
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> c;
  for (std::uint32_t i = 0; i < 40000; ++i) {
    a.push_back(static_cast<std::uint16_t>(random()));
    b.push_back(static_cast<std::uint16_t>(random()));
    // Exponents near those of the product, for rounding and cancellation, and any at all.
    c.push_back(i % 2 == 0 ? random() : 0x38000000u + random() % 0x10000000u + (random() & 0x80000000u));
  }
  a.insert(a.end(), {0x3C00, 0x8000, 0x0000, 0x7E00});
  b.insert(b.end(), {0x3C00, 0x3C00, 0x3C00, 0x3C00});
  c.insert(c.end(), {0xBF800000u, 0x80000000u, 0x80000000u, 0u});
  const std::pair<std::string, int> roundings[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  const auto describe_input = [&](std::size_t i) {
    return fmt::format("{:#x} {:#x} {:#x}", a[i], b[i], c[i]);
  };
  const auto bits = [](float value) {
    return std::isnan(value) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(value);
  };
  for (const auto& [rounding, mode] : roundings) {
    const auto host_fma = [&](std::size_t i, bool multiply, float sign) {
      volatile float x = static_cast<float>(slow_f16().value(a[i]));
      volatile float y = multiply ? static_cast<float>(slow_f16().value(b[i])) : 1.0f;
      volatile float z = sign * std::bit_cast<float>(c[i]);
      std::fesetround(mode);
      volatile float sum = std::fma(x, y, z);
      std::fesetround(FE_TONEAREST);
      return bits(sum);
    };
    const std::string suffix = "." + rounding + ".f32.f16 out, in0, ";
    expect_all(
        "fma" + suffix, stream<std::uint32_t>("fma" + suffix + "in1, in2", a, b, c),
        [&](std::size_t i) { return host_fma(i, true, 1); }, describe_input);
    expect_all(
        "add" + suffix, stream<std::uint32_t>("add" + suffix + "in2", a, b, c),
        [&](std::size_t i) { return host_fma(i, false, 1); }, describe_input);
    expect_all(
        "sub" + suffix, stream<std::uint32_t>("sub" + suffix + "in2", a, b, c),
        [&](std::size_t i) { return host_fma(i, false, -1); }, describe_input);
  }
  const std::vector<std::uint16_t> bfloats{0x3F80, 0x4040, 0xC000, 0x7FC0};
  const std::vector<std::uint32_t> addends{0x3F000000u, 0xBF800000u, 0x3F800000u, 0u};  // 0.5, -1, 1, 0
  CHECK(stream<std::uint32_t>("add.f32.bf16 out, in0, in1", bfloats, addends) ==
        std::vector<std::uint32_t>{0x3FC00000u, 0x40000000u, 0xBF800000u, 0x7FFFFFFFu});
  CHECK(stream<std::uint32_t>("fma.rn.sat.f32.bf16 out, in0, in0, in1", bfloats, addends) ==
        std::vector<std::uint32_t>{0x3F800000u, 0x3F800000u, 0x3F800000u, 0u});
}

TEST_CASE("half instructions that are not covered are refused") {
  for (const std::string text : {"fma.rn.oob.f16 %rs0, %rs1, %rs2, %rs3;", "add.sat.bf16 %rs0, %rs1, %rs2;",
                                 "fma.rn.ftz.bf16 %rs0, %rs1, %rs2, %rs3;", "add.rz.f16 %rs0, %rs1, %rs2;",
                                 "mul.f32.f16 %f0, %rs1, %f2;", "max.f16 %rs0, %rs1, %rs2, %rs3;"}) {
    INFO(text);
    CHECK(refusal(text).status == ak::Status::unsupported);
  }
}
