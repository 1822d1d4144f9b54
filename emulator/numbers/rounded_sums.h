// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace ak::emulator {

// Sums rounded to odd: to the neighbour whose last bit is 1 unless exact. Rounding such a number to a format
// with at least two bits less is as good as rounding the exact sum once, whatever the rounding (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).

namespace detail {

/// Rounded-to-nearest `value`, when the exact one is on the side of it that the sign of `error` says.
template <class Float>
[[nodiscard]] inline Float to_odd(Float value, Float error) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  const Bits bits = std::bit_cast<Bits>(value), error_bits = std::bit_cast<Bits>(error);
  constexpr int kSign = sizeof(Float) * 8 - 1;
  const Bits away = 1 - ((bits ^ error_bits) >> kSign << 1);  // + 1, or - 1 towards zero
  const bool inexact = (error < 0) | (error > 0);             // an infinite value's error is NaN
  const Bits odd = (bits & 1) == 0 ? bits + away : bits;
  return std::bit_cast<Float>(inexact ? odd : bits);
}

/// What a + b lost when it was rounded to `sum`; exact (Knuth).
template <class Float>
[[nodiscard]] inline Float sum_error(Float a, Float b, Float sum) {
  const Float b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

}  // namespace detail

/// a + b.
template <class Float>
[[nodiscard]] inline Float sum_to_odd(Float a, Float b) {
  const Float sum = a + b;
  return detail::to_odd(sum, detail::sum_error(a, b, sum));
}

/// a * b + c for numbers of at most 26 bits whose exponents a float has.
[[nodiscard]] inline float fma_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;  // exact
  const double sum = product + c;
  const float rounded = static_cast<float>(sum);
  // The part lost by the second rounding, if any, outweighs that of the first.
  const double lost = (sum - rounded) + detail::sum_error(product, static_cast<double>(c), sum);
  const float side = lost > 0 ? 1.0f : lost < 0 ? -1.0f : 0.0f;
  return detail::to_odd(rounded, side);
}

}  // namespace ak::emulator
