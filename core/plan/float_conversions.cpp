// SPDX-License-Identifier: Apache-2.0
//
// Conversions between float and the narrow types, declared in core/plan/random_input.h.
#include <bit>

#include "core/plan/random_input.h"

namespace ak {
namespace {

constexpr std::uint32_t kFloatMantissaBits = 23, kFloatBias = 127;
constexpr std::uint32_t kFloatInfinity = 0x7F800000, kFloatNan = 0x7FFFFFFF, kFloatMagnitude = 0x7FFFFFFF;

/// A binary floating-point format of at most 16 bits; all bit patterns without the sign.
struct FloatFormat {
  std::uint32_t bits, mantissa_bits, bias;
  std::uint32_t max_finite;
  std::uint32_t overflow;  ///< what a larger magnitude becomes: infinity, or max_finite where it saturates
  std::uint32_t infinity;  ///< 0 where the format has none
  std::uint32_t nan;       ///< the one that cvt.rn gives, always positive
};

// IEEE 754 binary16; bfloat16; OCP 8-bit Floating Point Specification: E4M3 (no infinity) and E5M2.
constexpr FloatFormat kHalf{16, 10, 15, 0x7BFF, 0x7C00, 0x7C00, 0x7FFF};
constexpr FloatFormat kBfloat16{16, 7, 127, 0x7F7F, 0x7F80, 0x7F80, 0x7FFF};
constexpr FloatFormat kE4m3{8, 3, 7, 0x7E, 0x7E, 0, 0x7F};
constexpr FloatFormat kE5m2{8, 2, 15, 0x7B, 0x7B, 0x7C, 0x7F};

// value / 2^shift to the nearest integer, ties to even.
std::uint32_t shift_round(std::uint32_t value, std::uint32_t shift) {
  if (shift > 25) return 0;  // a 24-bit significand is below one half
  const std::uint32_t half = 1u << (shift - 1), odd = (value >> shift) & 1u;
  return (value + half - 1 + odd) >> shift;
}

std::uint32_t magnitude_of(std::uint32_t magnitude, const FloatFormat& format) {
  const std::uint32_t dropped = kFloatMantissaBits - format.mantissa_bits;
  const std::uint32_t exponent = magnitude >> kFloatMantissaBits;
  const std::uint32_t rebias = kFloatBias - format.bias;
  // A carry out of the mantissa rightly raises the exponent, in both branches.
  if (exponent > rebias || rebias == 0)
    return shift_round(magnitude - (rebias << kFloatMantissaBits), dropped);
  const std::uint32_t implicit_one = exponent == 0 ? 0 : 1u << kFloatMantissaBits;
  const std::uint32_t significand = (magnitude & ((1u << kFloatMantissaBits) - 1)) | implicit_one;
  return shift_round(significand, dropped + rebias + 1 - exponent);
}

std::uint32_t encode(float value, const FloatFormat& format) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & kFloatMagnitude;
  if (magnitude > kFloatInfinity) return format.nan;
  const std::uint32_t sign = bits >> 31 << (format.bits - 1);
  const std::uint32_t rounded = magnitude_of(magnitude, format);
  return sign | (rounded > format.max_finite ? format.overflow : rounded);
}

float decode_magnitude(std::uint32_t magnitude, const FloatFormat& format) {
  if (format.infinity != 0 && magnitude == format.infinity) return std::bit_cast<float>(kFloatInfinity);
  if (magnitude > format.max_finite) return std::bit_cast<float>(kFloatNan);
  const std::uint32_t rebias = kFloatBias - format.bias;
  const std::uint32_t shifted = magnitude << (kFloatMantissaBits - format.mantissa_bits);
  const bool subnormal = magnitude >> format.mantissa_bits == 0;
  if (rebias == 0 || !subnormal) return std::bit_cast<float>(shifted + (rebias << kFloatMantissaBits));
  const float unit = std::bit_cast<float>((rebias + 1 - format.mantissa_bits) << kFloatMantissaBits);
  return static_cast<float>(magnitude) * unit;  // exact: a small integer times a power of two
}

float decode(std::uint32_t bits, const FloatFormat& format) {
  const std::uint32_t sign = bits >> (format.bits - 1);
  const float magnitude = decode_magnitude(bits & ((1u << (format.bits - 1)) - 1), format);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign << 31);
}

}  // namespace

std::uint16_t float_to_half(float value) { return static_cast<std::uint16_t>(encode(value, kHalf)); }
float half_to_float(std::uint16_t bits) { return decode(bits, kHalf); }
std::uint16_t float_to_bfloat16(float value) { return static_cast<std::uint16_t>(encode(value, kBfloat16)); }
float bfloat16_to_float(std::uint16_t bits) { return decode(bits, kBfloat16); }
std::uint8_t float_to_e4m3(float value) { return static_cast<std::uint8_t>(encode(value, kE4m3)); }
float e4m3_to_float(std::uint8_t bits) { return decode(bits, kE4m3); }
std::uint8_t float_to_e5m2(float value) { return static_cast<std::uint8_t>(encode(value, kE5m2)); }
float e5m2_to_float(std::uint8_t bits) { return decode(bits, kE5m2); }

}  // namespace ak
