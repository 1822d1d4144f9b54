// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "emulator/numbers/rounding.h"

namespace ak::emulator {

// The approximate functions of PTX on float: within the errors that the PTX ISA manual allows and with its
// special values, branch-free so that loops over lanes vectorise. The GPU's own results may differ in the
// last bits. Subnormals are exact on both sides; .ftz is the caller's. NaN results are any NaN.
//
// The polynomials interpolate their function in the Chebyshev nodes of the interval, solved in rational
// arithmetic and then rounded to float; each comment gives the error that was measured with those floats,
// before rounding in the evaluation.

namespace detail {

/// 1.5 * 2^23: adding it leaves the nearest integer in the low bits of a float below 2^22 in magnitude.
inline constexpr float kIntegerShift = 0x1.8p23f;

/// constant + x * (next + x * ...). Arguments, not an array: a loop over coefficients would come in the way
/// of vectorising the loop over lanes.
template <class... Rest>
[[nodiscard]] inline float polynomial(float x, float constant, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return constant;
  else
    return std::fma(polynomial(x, rest...), x, constant);
}

/// 2^exponent for -126 ... 127.
[[nodiscard]] inline float power_of_two(std::int32_t exponent) {
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}

}  // namespace detail

/// 2^x. Exact for integers; 1 for subnormals and zeros.
[[nodiscard]] inline float approximate_ex2(float x) {
  const float below = x < 130.0f ? x : 130.0f;              // NaN: 130, put right at the end
  const float clamped = below > -152.0f ? below : -152.0f;  // both overflow, or underflow to 0
  const float shifted = clamped + detail::kIntegerShift;
  const float fraction = clamped - (shifted - detail::kIntegerShift);
  // (2^f - 1) / f on [-1/2, 1/2]; 1 + f * p(f) is off by 2^-26.7 of 2^f.
  const float mantissa = std::fma(fraction,
                                  detail::polynomial(fraction, 0x1.62e430p-1f, 0x1.ebfbe0p-3f, 0x1.c6af6cp-5f,
                                                     0x1.3b2a54p-7f, 0x1.5f0890p-10f, 0x1.44138ap-13f),
                                  1.0f);
  const auto exponent = static_cast<std::int32_t>(bits_of(shifted) - bits_of(detail::kIntegerShift));
  // In two steps, since 2^130 and 2^-152 are not floats: only the second one can round.
  const std::int32_t half = exponent >> 1;
  const float scaled = mantissa * detail::power_of_two(half) * detail::power_of_two(exponent - half);
  return x != x ? x : scaled;
}

/// log2(x): -inf for zeros, NaN below.
[[nodiscard]] inline float approximate_lg2(float x) {
  constexpr std::uint32_t kRootHalf = 0x3F3504F3u;  // bits of sqrt(1/2)
  const bool tiny = x < std::numeric_limits<float>::min();
  const std::uint32_t bits = bits_of(tiny ? x * 0x1p23f : x) - kRootHalf;
  const std::int32_t exponent = (static_cast<std::int32_t>(bits) >> 23) - (tiny ? 23 : 0);
  const float mantissa = float_of((bits & 0x7FFFFFu) + kRootHalf);
  const float fraction = mantissa - 1.0f;
  // log2(1 + f) / f between sqrt(1/2) and sqrt(2); f * p(f) is off by 2^-25.7 of the logarithm.
  const float finite =
      std::fma(fraction,
               detail::polynomial(fraction, 0x1.715476p+0f, -0x1.715470p-1f, 0x1.ec70aap-2f, -0x1.715a70p-2f,
                                  0x1.277a52p-2f, -0x1.eab7aap-3f, 0x1.a38c68p-3f, -0x1.87f6a2p-3f,
                                  0x1.7a63a0p-3f, -0x1.b84fb6p-4f),
               static_cast<float>(exponent));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float positive = x < kInfinity ? finite : x;  // infinity and NaN are their own logarithms
  const float defined = x < 0 ? std::numeric_limits<float>::quiet_NaN() : positive;
  return x == 0 ? -kInfinity : defined;
}

namespace detail {

/// sin(x + quarters * pi / 2). The argument is reduced to [-pi/4, pi/4] well up to some 10^6; from there on,
/// where the manual promises nothing, the result is some number in [-1, 1].
template <std::uint32_t kQuarters>
[[nodiscard]] inline float approximate_sine(float x) {
  constexpr float kTwoOverPi = 0x1.45f306p-1f;
  constexpr float kHalfPi = 0x1.921fb6p+0f, kHalfPi2 = -0x1.777a5cp-25f, kHalfPi3 = -0x1.ee59dap-50f;
  constexpr float kLimit = 0x1.922p-1f;  // a little more than pi / 4
  const float shifted = std::fma(x, kTwoOverPi, kIntegerShift);
  const float turns = shifted - kIntegerShift;
  const float reduced = std::fma(-turns, kHalfPi3, std::fma(-turns, kHalfPi2, std::fma(-turns, kHalfPi, x)));
  const float below = reduced < kLimit ? reduced : kLimit, above = below > -kLimit ? below : -kLimit;
  const float r = turns == 0 ? x : above;  // keeps -0
  const float square = r * r;
  // (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4, by r^2: both off by less than 2^-26.8.
  const float sine =
      r * std::fma(square, polynomial(square, -0x1.555552p-3f, 0x1.110c28p-7f, -0x1.9ac96cp-13f), 1.0f);
  const float cosine =
      std::fma(square * square, polynomial(square, 0x1.555554p-5f, -0x1.6c12d2p-10f, 0x1.9bd864p-16f),
               std::fma(square, -0.5f, 1.0f));
  const std::uint32_t quadrant = bits_of(shifted) + kQuarters;
  const float magnitude = (quadrant & 1) != 0 ? cosine : sine;
  const float value = float_of(bits_of(magnitude) ^ (quadrant & 2) << 30);
  const bool finite = (bits_of(x) & kExponentMask) != kExponentMask;
  return finite ? value : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace detail

/// Zero is its own sine, and subnormals count as zero also without .ftz (seen on an H200).
[[nodiscard]] inline float approximate_sin(float x) {
  const float sine = detail::approximate_sine<0>(x);
  return (bits_of(x) & kExponentMask) == 0 ? float_of(bits_of(x) & kSignBit) : sine;
}
[[nodiscard]] inline float approximate_cos(float x) { return detail::approximate_sine<1>(x); }

/// Subnormals and zeros are their own results.
[[nodiscard]] inline float approximate_tanh(float x) {
  constexpr float kLimit = 9.0f;  // beyond, tanh is nearer to 1 than 2^-24
  const float magnitude = std::fabs(x);
  const float clamped = magnitude < kLimit ? magnitude : kLimit;
  const float square = clamped * clamped;
  // tanh(x) / x as a quotient of polynomials in x^2, off by 2^-23.6.
  const float quotient =
      clamped *
      detail::polynomial(square, 1.0f, 0x1.133484p-3f, 0x1.d2ea72p-9f, 0x1.6b9300p-16f, 0x1.fa8558p-27f) /
      detail::polynomial(square, 1.0f, 0x1.deef98p-2f, 0x1.ac27eep-6f, 0x1.63cf84p-12f, 0x1.c0f9f6p-21f);
  const float at_most_one = (quotient < 1.0f) & (magnitude < kLimit) ? quotient : 1.0f;
  const float value = float_of(bits_of(at_most_one) | (bits_of(x) & kSignBit));
  return x != x ? x : value;
}

}  // namespace ak::emulator
