// SPDX-License-Identifier: Apache-2.0
// Every code of every format of up to 8 bits, against the definition of its value.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include "emulator/numbers/matrix_multiply.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator::test {
namespace {

enum class Specials { none, nan_only, infinity_and_nan };

/// (-1)^s 2^(e - bias) 1.m, or 2^(1 - bias) 0.m where e is 0.
double defined_value(std::uint32_t code, int exponent_bits, int mantissa_bits, int bias, Specials specials) {
  const std::uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
  const std::uint32_t exponent = code >> mantissa_bits & ((1u << exponent_bits) - 1);
  const bool negative = (code >> (exponent_bits + mantissa_bits) & 1u) != 0;
  const bool highest = exponent == (1u << exponent_bits) - 1;
  const bool all_ones = mantissa == (1u << mantissa_bits) - 1;
  if (specials == Specials::nan_only && highest && all_ones) return std::nan("");
  if (specials == Specials::infinity_and_nan && highest)
    return mantissa != 0 ? std::nan("") : negative ? -HUGE_VAL : HUGE_VAL;
  const double scale = std::ldexp(1.0, -mantissa_bits);
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa * scale, 1 - bias)
                               : std::ldexp(1 + mantissa * scale, static_cast<int>(exponent) - bias);
  return negative ? -magnitude : magnitude;
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <FloatFormat kFormat>
void check_format(Specials specials) {
  const std::uint32_t codes = 2u << kFormat.sign_bit();
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value =
        defined_value(code, kFormat.exponent_bits, kFormat.mantissa_bits, kFormat.bias, specials);
    CAPTURE(code, value);
    CHECK(same(decode<kFormat>(code), value));
    if (!std::isnan(value)) CHECK(encode<kFormat>(static_cast<float>(value)) == code);
  }
}

/// Between two neighbours the middle goes to the even one, what is next to it to the nearer.
template <FloatFormat kFormat>
void check_rounding() {
  for (std::uint32_t code = 0; code < kFormat.largest; ++code) {
    const float below = decode<kFormat>(code), above = decode<kFormat>(code + 1),
                middle = (below + above) / 2;
    CAPTURE(code);
    CHECK(encode<kFormat>(middle) == (code % 2 == 0 ? code : code + 1));
    CHECK(encode<kFormat>(std::nextafter(middle, below)) == code);
    CHECK(encode<kFormat>(std::nextafter(middle, above)) == code + 1);
  }
}

}  // namespace

TEST_CASE("every code of the formats of 8, 6 and 4 bits stands for the number that its fields define") {
  check_format<kE4m3>(Specials::nan_only);
  check_format<kE5m2>(Specials::infinity_and_nan);
  check_format<kE3m2>(Specials::none);
  check_format<kE2m3>(Specials::none);
  check_format<kE2m1>(Specials::none);
}

TEST_CASE("numbers between two codes go to the nearer one, and to the even one from the middle") {
  check_rounding<kE4m3>();
  check_rounding<kE5m2>();
  check_rounding<kE3m2>();
  check_rounding<kE2m3>();
  check_rounding<kE2m1>();
}

TEST_CASE("every code of a scale stands for a power of two, or for e4m3 without a sign") {
  for (std::uint32_t code = 0; code < 256; ++code) {
    CAPTURE(code);
    CHECK(same(ue8m0_to_float(code),
               code == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127)));
    CHECK(same(ue4m3_to_float(code), defined_value(code & 0x7Fu, 4, 3, 7, Specials::nan_only)));
  }
}

TEST_CASE("elements that have a byte each lie where the tensor cores read them") {
  struct Case {
    Type type;
    int bits, shift, exponent_bits, mantissa_bits, bias;
    Specials specials;
  };
  const Case cases[] = {{Type::e4m3, 8, 0, 4, 3, 7, Specials::nan_only},
                        {Type::e5m2, 8, 0, 5, 2, 15, Specials::infinity_and_nan},
                        {Type::e3m2, 6, 0, 3, 2, 3, Specials::none},
                        {Type::e2m3, 6, 0, 2, 3, 1, Specials::none},
                        {Type::e2m1, 4, 2, 2, 1, 1, Specials::none}};
  std::byte bytes[256];
  for (int code = 0; code < 256; ++code) bytes[code] = static_cast<std::byte>(code);
  for (const Case& c : cases) {
    double numbers[256];
    byte_decoder(c.type)(bytes, 256, numbers);
    for (std::uint32_t code = 0; code < 256; ++code) {
      const std::uint32_t element = code >> c.shift & ((1u << c.bits) - 1);
      CAPTURE(to_string(c.type), code);
      CHECK(
          same(numbers[code], defined_value(element, c.exponent_bits, c.mantissa_bits, c.bias, c.specials)));
    }
  }
}

TEST_CASE("two elements of e2m1 share a byte, the first in its lower half") {
  std::byte bytes[256];
  for (int code = 0; code < 256; ++code) bytes[code] = static_cast<std::byte>(code);
  double numbers[512];
  float_decoder(Type::e2m1)(bytes, 512, numbers);
  for (std::uint32_t i = 0; i < 512; ++i)
    CHECK(same(numbers[i], defined_value(i / 2 >> (4 * (i % 2)) & 0xFu, 2, 1, 1, Specials::none)));
}

}  // namespace ak::emulator::test
