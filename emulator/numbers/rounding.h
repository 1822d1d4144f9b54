// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/numbers/small_floats.h"

namespace ak::emulator {

// Pieces of floating-point instructions: all branch-free for any input, so that loops over lanes vectorise.
// They rely on the host rounding to nearest and keeping subnormals.

inline constexpr std::uint32_t kSignBit = 0x80000000u;       ///< of f32
inline constexpr std::uint32_t kExponentMask = 0x7F800000u;  ///< of f32

[[nodiscard]] inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
[[nodiscard]] inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
[[nodiscard]] inline std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
[[nodiscard]] inline double double_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// .ftz: subnormals become zero, with their sign.
[[nodiscard]] inline float flush(float x) {
  const std::uint32_t bits = bits_of(x);
  return float_of((bits & kExponentMask) == 0 ? bits & kSignBit : bits);
}
template <bool kFtz>
[[nodiscard]] inline float flush_if(float x) {
  if constexpr (kFtz) return flush(x);
  return x;
}

/// Every NaN becomes the one that .f32 instructions give.
[[nodiscard]] inline float canonical(float x) { return x != x ? float_of(kCanonicalNan) : x; }

/// .sat: clamped to [0, 1]; NaN and -0 become +0.
[[nodiscard]] inline float saturate(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  return positive < 1.0f ? positive : 1.0f;
}

/// What .f32 results go through last: .ftz, then .sat or the canonical NaN.
template <bool kFtz, bool kSat = false>
[[nodiscard]] inline float finish(float x) {
  const float flushed = flush_if<kFtz>(x);
  if constexpr (kSat) return saturate(flushed);
  return canonical(flushed);
}

/// A float nearest to a number, moved to its neighbour where the direction demands: `excess` has the sign of
/// `nearest` minus the number (NaN: leave it). Infinity moves to the largest number, zero to the smallest.
template <Rounding kRounding>
[[nodiscard]] inline float directed(float nearest, double excess) {
  static_assert(kRounding == Rounding::toward_zero || kRounding == Rounding::down ||
                kRounding == Rounding::up);
  const std::uint32_t bits = bits_of(nearest);
  const bool negative = (bits & kSignBit) != 0;
  // Bits of a float order its magnitude: one more is the neighbour away from zero.
  const std::uint32_t lower = negative ? bits + 1 : bits - 1, higher = negative ? bits - 1 : bits + 1;
  if constexpr (kRounding == Rounding::down) return float_of(excess > 0 ? lower : bits);
  if constexpr (kRounding == Rounding::up) return float_of(excess < 0 ? higher : bits);
  const double outward = negative ? -excess : excess;
  return float_of(outward > 0 ? bits - 1 : bits);
}

/// `x` rounded once to float.
template <Rounding kRounding>
[[nodiscard]] inline float round_to_float(double x) {
  const float nearest = static_cast<float>(x);
  if constexpr (kRounding == Rounding::nearest_even)
    return nearest;
  else
    return directed<kRounding>(nearest, static_cast<double>(nearest) - x);
}

/// x + y, rounded once to float in a direction. Both must be zero, or products or values of floats: large
/// enough for the error of their sum to be a double. The exact zero of x - x is -0 when rounding down, else
/// +0, as IEEE 754 has it.
template <Rounding kRounding>
[[nodiscard]] inline float round_sum_to_float(double x, double y) {
  const double sum = x + y, y_part = sum - x, x_part = sum - y_part;
  const double error = (x - x_part) + (y - y_part);  // x + y == sum + error, exactly
  const float nearest = static_cast<float>(sum);
  // The first difference is exact, so the second has the right sign. The number is never beyond the next
  // float, since floats are doubles and rounding to double keeps order.
  const float rounded = directed<kRounding>(nearest, (static_cast<double>(nearest) - sum) - error);
  if constexpr (kRounding != Rounding::down) return rounded;
  const std::uint32_t sign = static_cast<std::uint32_t>((bits_of(x) | bits_of(y)) >> 32) & kSignBit;
  return sum == 0 ? float_of(sign) : rounded;
}

}  // namespace ak::emulator
