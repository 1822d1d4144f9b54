// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/plan/random_input.h"

using namespace ak;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Patterns that do not come back unchanged, NaNs counted apart.
struct RoundTrip {
  int changed = 0, nans = 0;
};
template <class Bits, class Decode, class Encode>
RoundTrip round_trip(Decode decode, Encode encode) {
  RoundTrip result;
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<Bits>::max(); ++bits) {
    const float value = decode(static_cast<Bits>(bits));
    if (std::isnan(value)) {
      ++result.nans;
      if (!std::isnan(decode(encode(value)))) ++result.changed;
    } else if (encode(value) != bits) {
      ++result.changed;
    }
  }
  return result;
}

/// How often `encode` differs from the toolkit's conversion, over every 509th float and both neighbours of
/// each midpoint between two values of the format.
template <class Bits, class Decode, class Encode, class Toolkit>
int differences(Decode decode, Encode encode, Toolkit toolkit) {
  int count = 0;
  const auto compare = [&](float value) { count += encode(value) != toolkit(value); };
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 509) {
    compare(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (std::uint32_t bits = 0; bits < std::numeric_limits<Bits>::max(); ++bits) {
    const float low = decode(static_cast<Bits>(bits)), high = decode(static_cast<Bits>(bits + 1));
    const float middle = low / 2 + high / 2;
    for (const float value :
         {low, middle, std::nextafter(middle, kInfinity), std::nextafter(middle, -kInfinity)}) {
      compare(value);
    }
  }
  return count;
}

}  // namespace

TEST_CASE("every narrow value survives the way to float and back") {
  const auto fp16 = round_trip<std::uint16_t>(half_to_float, float_to_half);
  CHECK(fp16.changed == 0);
  CHECK(fp16.nans == 2 * 1023);
  const auto bfloat16 = round_trip<std::uint16_t>(bfloat16_to_float, float_to_bfloat16);
  CHECK(bfloat16.changed == 0);
  CHECK(bfloat16.nans == 2 * 127);
  const auto e4m3 = round_trip<std::uint8_t>(e4m3_to_float, float_to_e4m3);
  CHECK(e4m3.changed == 0);
  CHECK(e4m3.nans == 2);
  const auto e5m2 = round_trip<std::uint8_t>(e5m2_to_float, float_to_e5m2);
  CHECK(e5m2.changed == 2);  // the infinities, which saturate
  CHECK(e5m2.nans == 6);
}

TEST_CASE("conversions to narrow types agree with the toolkit's") {
  CHECK(differences<std::uint16_t>(half_to_float, float_to_half,
                                   [](float x) { return __half_raw(__float2half_rn(x)).x; }) == 0);
  CHECK(differences<std::uint16_t>(bfloat16_to_float, float_to_bfloat16,
                                   [](float x) { return __nv_bfloat16_raw(__float2bfloat16_rn(x)).x; }) == 0);
  CHECK(differences<std::uint8_t>(e4m3_to_float, float_to_e4m3,
                                  [](float x) { return __nv_fp8_e4m3(x).__x; }) == 0);
  CHECK(differences<std::uint8_t>(e5m2_to_float, float_to_e5m2,
                                  [](float x) { return __nv_fp8_e5m2(x).__x; }) == 0);
}

TEST_CASE("half rounds to nearest even, down to subnormals and up to infinity") {
  CHECK(float_to_half(1.0f) == 0x3C00);
  CHECK(float_to_half(1.0f + 0x1p-11f) == 0x3C00);  // tie, to even
  CHECK(float_to_half(1.0f + 0x3p-11f) == 0x3C02);  // tie, to even
  CHECK(float_to_half(65504.0f) == 0x7BFF);
  CHECK(float_to_half(65519.0f) == 0x7BFF);
  CHECK(float_to_half(65520.0f) == 0x7C00);
  CHECK(float_to_half(-kInfinity) == 0xFC00);
  CHECK(float_to_half(0x1p-24f) == 0x0001);
  CHECK(float_to_half(0x1p-25f) == 0x0000);  // tie, to even
  CHECK(float_to_half(0x1.8p-25f) == 0x0001);
  CHECK(float_to_half(-0.0f) == 0x8000);
  CHECK(float_to_half(kNan) == 0x7FFF);
  CHECK(half_to_float(0x0001) == 0x1p-24f);
  CHECK(half_to_float(0x7C00) == kInfinity);
}

TEST_CASE("bfloat16 keeps float's range") {
  CHECK(float_to_bfloat16(1.0f) == 0x3F80);
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(float_to_bfloat16(0x1p-149f) == 0x0000);
  CHECK(float_to_bfloat16(0x1p-133f) == 0x0001);
  CHECK(float_to_bfloat16(1.0f + 0x1p-8f) == 0x3F80);  // tie, to even
  CHECK(float_to_bfloat16(kNan) == 0x7FFF);
}

TEST_CASE("fp8 saturates to its largest finite value") {
  CHECK(e4m3_to_float(0x7E) == 448.0f);
  CHECK(float_to_e4m3(1e30f) == 0x7E);
  CHECK(float_to_e4m3(-kInfinity) == 0xFE);
  CHECK(float_to_e4m3(464.0f) == 0x7E);
  CHECK(float_to_e4m3(0x1p-9f) == 0x01);
  CHECK(float_to_e4m3(0x1p-10f) == 0x00);  // tie, to even
  CHECK(float_to_e4m3(kNan) == 0x7F);
  CHECK(e5m2_to_float(0x7B) == 57344.0f);
  CHECK(float_to_e5m2(kInfinity) == 0x7B);
  CHECK(float_to_e5m2(-1e30f) == 0xFB);
  CHECK(float_to_e5m2(0x1p-16f) == 0x01);
  CHECK(float_to_e5m2(0x1p-17f) == 0x00);  // tie, to even
  CHECK(float_to_e5m2(kNan) == 0x7F);
}
