// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace ak::emulator {

// Conversions between float or double and the narrower formats of PTX. Branch-free, so that loops over lanes
// vectorise; they rely on the host rounding to nearest and on subnormals not being flushed.

enum class Rounding : std::uint8_t {
  nearest_even,  ///< .rn
  toward_zero,   ///< .rz
  down,          ///< .rm
  up,            ///< .rp
  nearest_away,  ///< .rna: ties away from zero
  odd,           ///< to the neighbour with an odd last bit: rounding the result again rounds once in all
};

/// A binary floating-point format: a sign above `exponent_bits` above `mantissa_bits`.
struct FloatFormat {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  std::uint32_t largest = 0;  ///< magnitude code of the largest finite number
  std::uint32_t nan = 0;      ///< what conversions give for NaN
  bool has_infinity = false;  ///< largest + 1 is infinity and codes above are NaNs
  bool has_nan = true;        ///< false: `nan` is the largest finite number
  [[nodiscard]] constexpr int sign_bit() const { return exponent_bits + mantissa_bits; }
  [[nodiscard]] constexpr std::uint32_t magnitude_mask() const { return (1u << sign_bit()) - 1; }
};

// PTX ISA 9.0, section 5.2.3, and the canonical NaNs of the instructions' descriptions.
inline constexpr FloatFormat kF16{5, 10, 15, 0x7BFFu, 0x7FFFu, true};
inline constexpr FloatFormat kBf16{8, 7, 127, 0x7F7Fu, 0x7FFFu, true};
inline constexpr FloatFormat kTf32{8, 10, 127, 0x3FBFFu, 0x3FFFFu, true};  ///< the top 19 bits of a float
inline constexpr FloatFormat kE5m2{5, 2, 15, 0x7Bu, 0x7Fu, true};
inline constexpr FloatFormat kE4m3{4, 3, 7, 0x7Eu, 0x7Fu, false};
inline constexpr FloatFormat kE3m2{3, 2, 3, 0x1Fu, 0x1Fu, false, false};
inline constexpr FloatFormat kE2m3{2, 3, 1, 0x1Fu, 0x1Fu, false, false};
inline constexpr FloatFormat kE2m1{2, 1, 1, 0x7u, 0x7u, false, false};

inline constexpr std::uint32_t kCanonicalNan = 0x7FFFFFFFu;  ///< of f32
inline constexpr std::uint32_t kCanonicalHalfNan = 0x7FFFu;  ///< of f16 and bf16

namespace detail {

template <class Float>
struct Wide;
template <>
struct Wide<float> {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr int kMantissa = 23, kExponent = 8, kBias = 127;
};
template <>
struct Wide<double> {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr int kMantissa = 52, kExponent = 11, kBias = 1023;
};

/// What to add to a magnitude before its low `shift` bits are cut off.
template <Rounding kRounding, class Bits>
[[nodiscard]] constexpr Bits rounding_term(Bits magnitude, Bits shift, bool negative) {
  const Bits one = 1, all = (one << shift) - 1;
  if constexpr (kRounding == Rounding::nearest_even) return (all >> 1) + (magnitude >> shift & one);
  if constexpr (kRounding == Rounding::nearest_away) return (all >> 1) + one;
  if constexpr (kRounding == Rounding::down) return negative ? all : Bits{0};
  if constexpr (kRounding == Rounding::up) return negative ? Bits{0} : all;
  return 0;
}

template <Rounding kRounding, class Bits>
[[nodiscard]] constexpr Bits round_shift(Bits magnitude, Bits shift, bool negative) {
  const Bits one = 1, cut = magnitude & ((one << shift) - 1);
  const Bits rounded = (magnitude + rounding_term<kRounding>(magnitude, shift, negative)) >> shift;
  if constexpr (kRounding == Rounding::odd) return rounded | (cut != 0 ? one : Bits{0});
  return rounded;
}

/// Magnitude code of a finite `magnitude` (bits of a Float without sign), not limited to the format's range.
template <FloatFormat kTo, Rounding kRounding, class Float>
[[nodiscard]] constexpr typename Wide<Float>::Bits round_magnitude(typename Wide<Float>::Bits magnitude,
                                                                   bool negative) {
  using W = Wide<Float>;
  using Bits = typename W::Bits;
  using Signed = typename W::Signed;
  constexpr Bits kCut = W::kMantissa - kTo.mantissa_bits;
  if constexpr (kTo.bias == W::kBias) {
    return round_shift<kRounding>(magnitude, kCut, negative);
  } else {
    constexpr Bits kImplicit = Bits{1} << W::kMantissa;
    const Signed field = static_cast<Signed>(magnitude >> W::kMantissa);
    const Bits mantissa = (magnitude & (kImplicit - 1)) | (field != 0 ? kImplicit : Bits{0});
    const Signed exponent = (field != 0 ? field : 1) - (W::kBias - kTo.bias);
    const Bits below = static_cast<Bits>(exponent < 1 ? 1 - exponent : 0);  // subnormal: more bits are lost
    const Bits shift = kCut + below < W::kMantissa + 2 ? kCut + below : Bits{W::kMantissa + 2};
    const Bits base = static_cast<Bits>(exponent > 1 ? exponent - 1 : 0) << kTo.mantissa_bits;
    return base + round_shift<kRounding>(mantissa, shift, negative);  // the implicit bit makes up for the - 1
  }
}

/// Code for a magnitude above the largest.
template <FloatFormat kTo, Rounding kRounding, bool kSatfinite>
[[nodiscard]] constexpr std::uint32_t overflow_code(bool negative, bool infinite) {
  constexpr std::uint32_t kBeyond = kTo.has_infinity ? kTo.largest + 1 : kTo.nan;
  if constexpr (kSatfinite) return kTo.largest;
  if constexpr (kRounding == Rounding::toward_zero || kRounding == Rounding::odd)
    return infinite ? kBeyond : kTo.largest;
  if constexpr (kRounding == Rounding::down) return infinite || negative ? kBeyond : kTo.largest;
  if constexpr (kRounding == Rounding::up) return infinite || !negative ? kBeyond : kTo.largest;
  return kBeyond;
}

}  // namespace detail

/// `value` rounded once to a format: its code in the low bits, sign included. Overflow goes to infinity or,
/// as the rounding demands or with kSatfinite, to the largest number; formats without infinity that do not
/// saturate give NaN. NaN gives the format's positive NaN, or its largest number when there is none.
template <FloatFormat kTo, Rounding kRounding = Rounding::nearest_even, bool kSatfinite = false, class Float>
[[nodiscard]] constexpr std::uint32_t encode(Float value) {
  using W = detail::Wide<Float>;
  using Bits = typename W::Bits;
  constexpr int kSignBit = W::kMantissa + W::kExponent;
  constexpr Bits kInfinity = ((Bits{1} << W::kExponent) - 1) << W::kMantissa;
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits magnitude = bits & ((Bits{1} << kSignBit) - 1);
  const bool negative = (bits >> kSignBit) != 0;
  const Bits rounded = detail::round_magnitude<kTo, kRounding, Float>(magnitude, negative);
  const std::uint32_t beyond =
      detail::overflow_code<kTo, kRounding, kSatfinite>(negative, magnitude == kInfinity);
  std::uint32_t code = rounded > kTo.largest ? beyond : static_cast<std::uint32_t>(rounded);
  code |= static_cast<std::uint32_t>(bits >> kSignBit) << kTo.sign_bit();
  return magnitude > kInfinity ? kTo.nan : code;
}

/// The number that the low bits of `code` stand for; exact. NaN gives the canonical NaN.
template <FloatFormat kFrom>
[[nodiscard]] constexpr float decode(std::uint32_t code) {
  constexpr int kCut = 23 - kFrom.mantissa_bits;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kFrom.bias) << 23;
  const std::uint32_t magnitude = code & kFrom.magnitude_mask();
  const std::uint32_t shifted = magnitude << kCut;
  // A subnormal is the mantissa of the smallest normal number's binade, less its implicit one. (Multiplying a
  // subnormal float would do too, at a hundred cycles each.)
  const std::uint32_t lifted = shifted + kRebias + (1u << 23);
  const float subnormal = std::bit_cast<float>(lifted) - std::bit_cast<float>(kRebias + (1u << 23));
  std::uint32_t bits =
      magnitude >> kFrom.mantissa_bits != 0 ? shifted + kRebias : std::bit_cast<std::uint32_t>(subnormal);
  if constexpr (kFrom.has_infinity) bits = magnitude == kFrom.largest + 1 ? 0x7F800000u : bits;
  constexpr std::uint32_t kFinite = kFrom.largest + (kFrom.has_infinity ? 1 : 0);
  bits |= (code >> kFrom.sign_bit() & 1u) << 31;
  if constexpr (kFrom.has_nan) bits = magnitude > kFinite ? kCanonicalNan : bits;
  return std::bit_cast<float>(bits);
}

[[nodiscard]] constexpr float f16_to_float(std::uint32_t half) { return decode<kF16>(half); }
/// NaNs keep their payload.
[[nodiscard]] constexpr float bf16_to_float(std::uint32_t half) { return std::bit_cast<float>(half << 16); }
/// Of a 32-bit register: the bits that tf32 does not have are ignored.
[[nodiscard]] constexpr float tf32_to_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0xFFFFE000u);
}
[[nodiscard]] constexpr float e4m3_to_float(std::uint32_t code) { return decode<kE4m3>(code); }
[[nodiscard]] constexpr float e5m2_to_float(std::uint32_t code) { return decode<kE5m2>(code); }
[[nodiscard]] constexpr float e3m2_to_float(std::uint32_t code) { return decode<kE3m2>(code); }
[[nodiscard]] constexpr float e2m3_to_float(std::uint32_t code) { return decode<kE2m3>(code); }
[[nodiscard]] constexpr float e2m1_to_float(std::uint32_t code) { return decode<kE2m1>(code); }
/// 2^(code - 127); 255 is NaN.
[[nodiscard]] constexpr float ue8m0_to_float(std::uint32_t code) {
  const std::uint32_t field = code & 0xFFu;
  const std::uint32_t bits = field == 0 ? 0x00400000u : field << 23;  // 2^-127 is a subnormal float
  return std::bit_cast<float>(field == 0xFFu ? kCanonicalNan : bits);
}
/// e4m3 without a sign: the upper bit is not looked at; 127 is NaN.
[[nodiscard]] constexpr float ue4m3_to_float(std::uint32_t code) { return decode<kE4m3>(code & 0x7Fu); }

/// Nearest even, the rounding of nearly all of them, without the shifts by a variable that `encode` needs.
[[nodiscard]] constexpr std::uint32_t float_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7FFFFFFFu;
  constexpr std::uint32_t kRebias = 112u << 23;
  const std::uint32_t normal = (magnitude - kRebias + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  // The last bit of a float from 0.5 to 1 is f16's smallest subnormal: the addition rounds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  std::uint32_t code = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
  code = magnitude >= 0x477FF000u ? 0x7C00u : code;                   // 65520 and more round to infinity
  code |= bits >> 16 & 0x8000u;
  return magnitude > 0x7F800000u ? kCanonicalHalfNan : code;
}
[[nodiscard]] constexpr std::uint32_t float_to_bf16(float value) { return encode<kBf16>(value); }
/// A float whose low 13 bits are zero; NaN gives the canonical NaN. To nearest with ties away, payloads that
/// round to nothing give an infinity (seen on an H200).
template <Rounding kRounding, bool kSatfinite = false>
[[nodiscard]] constexpr std::uint32_t float_to_tf32(float value) {
  const std::uint32_t given = std::bit_cast<std::uint32_t>(value), payload = given & 0x7FFFFFu;
  const bool not_a_number = (given & 0x7FFFFFFFu) > 0x7F800000u;
  if (kRounding == Rounding::nearest_away && not_a_number && payload < 0x1000u) return given & 0xFF800000u;
  const std::uint32_t bits = encode<kTf32, kRounding, kSatfinite>(value) << 13;
  return bits == kTf32.nan << 13 ? kCanonicalNan : bits;
}
/// Of the magnitude; .rp or .rz. Below 2^-127: 2^-127. Infinity and what rounds above 2^127: NaN, or 2^127
/// with kSatfinite. NaN: NaN.
template <Rounding kRounding, bool kSatfinite>
[[nodiscard]] constexpr std::uint32_t float_to_ue8m0(float value) {
  static_assert(kRounding == Rounding::up || kRounding == Rounding::toward_zero);
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu;
  const std::uint32_t field = magnitude >> 23, mantissa = magnitude & 0x7FFFFFu;
  // In the lowest binade the code 0 is 2^-127, whose mantissa is 0x400000.
  const std::uint32_t exact = field == 0 ? 0x400000u : 0u;
  std::uint32_t code = kRounding == Rounding::up && mantissa > exact ? field + 1 : field;
  if constexpr (kSatfinite) code = code > 0xFEu ? 0xFEu : code;
  return magnitude > 0x7F800000u || code > 0xFFu ? 0xFFu : code;
}

}  // namespace ak::emulator
