// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/convert_formats.h"
#include "emulator/ops/convert_ops.h"

namespace ak::emulator {
namespace {

// tf32, and pairs of numbers of 16 bits and less: a pair holds its first operand above its second.

/// Numbers as pairs hold them, each in kBits bits.
template <FloatFormat kFormat, int kWidth>
struct Element {
  static constexpr int kBits = kWidth;
  static float read(std::uint32_t code) { return decode<kFormat>(code); }
  template <Rounding kRounding>
  static std::uint32_t write(float value) {
    if constexpr (kWidth == 16) return encode<kFormat, kRounding>(value);
    return encode<kFormat, kRounding, true>(value);  // the formats below 16 bits always saturate
  }
  // Not constexpr: clang refuses the NaN that decode() computes on the way, and drops.
  static inline const float kLargest = decode<kFormat>(kFormat.largest);
};
struct HalfElement : Element<kF16, 16> {
  template <Rounding kRounding>
  static std::uint32_t write(float value) {
    return HalfFormat::write<kRounding>(value);
  }
};
using BfloatElement = Element<kBf16, 16>;
using E4m3 = Element<kE4m3, 8>;
using E5m2 = Element<kE5m2, 8>;
using E2m3 = Element<kE2m3, 8>;  // above each of its six bits are two zeros
using E3m2 = Element<kE3m2, 8>;
using E2m1 = Element<kE2m1, 4>;
/// Powers of two.
template <bool kSatfinite>
struct Ue8m0 {
  static constexpr int kBits = 8;
  static float read(std::uint32_t code) { return ue8m0_to_float(code); }
  template <Rounding kRounding>
  static std::uint32_t write(float value) {
    return float_to_ue8m0<kRounding, kSatfinite>(value);
  }
  static constexpr float kLargest = 0x1p127f;
};

template <class To, Rounding kRounding, bool kPlain>
std::uint32_t write_pair(float high, float low, std::uint32_t flags) {
  const auto write = [flags](float value) {
    if constexpr (!kPlain) {
      if ((flags & kConvertRelu) != 0) value = clamp_negative(value);
      if constexpr (To::kBits == 16)
        if ((flags & kConvertSatfinite) != 0) value = clamp_magnitude(value, To::kLargest);
    }
    return To::template write<kRounding>(value);
  };
  return write(low) | write(high) << To::kBits;
}

template <class To, Rounding kRounding, bool kPlain>
void pair_from_floats(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, float, float>(
      warp, op.d,
      [flags](float high, float low) { return write_pair<To, kRounding, kPlain>(high, low, flags); }, op.a,
      op.b);
}

template <class To, class From, Rounding kRounding = Rounding::nearest_even>
void pair_from_pair(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<std::uint32_t, std::uint32_t>(
      warp, op.d,
      [flags](std::uint32_t pair) {
        constexpr std::uint32_t kMask = (1u << From::kBits) - 1;
        const float high = From::read(pair >> From::kBits & kMask), low = From::read(pair & kMask);
        return write_pair<To, kRounding, false>(high, low, flags);
      },
      op.a);
}

template <Rounding kRounding>
void float_to_tf32_lanes(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  constexpr float kLargest = 0x1.FFCp127f;
  map_lanes<std::uint32_t, float>(
      warp, op.d,
      [flags](float value) {
        if ((flags & kConvertRelu) != 0) value = clamp_negative(value);
        const std::uint32_t rounded = float_to_tf32<kRounding>(value);
        if ((flags & kConvertSatfinite) == 0) return rounded;
        return bits_of(clamp_magnitude(float_of(rounded), kLargest));
      },
      op.a);
}

enum class Satfinite : std::uint8_t { optional, required, refused };

/// A conversion the manual lists.
struct Conversion {
  Type to, from;
  std::string_view rounding;
  Satfinite satfinite;
  bool relu;
  Handler run;        ///< with modifiers
  Handler run_plain;  ///< with the rounding only; for ue8m0 without .satfinite
};

template <class To, Rounding kRounding>
constexpr Conversion half_pair(Type to, std::string_view rounding) {
  return {to,
          Type::f32,
          rounding,
          Satfinite::optional,
          true,
          pair_from_floats<To, kRounding, false>,
          pair_from_floats<To, kRounding, true>};
}
template <class To>
constexpr Conversion narrow_floats(Type to) {
  constexpr Handler kRun = pair_from_floats<To, Rounding::nearest_even, false>;
  return {to, Type::f32, "rn", Satfinite::required, true, kRun, kRun};
}
template <class To>
constexpr Conversion narrow_halves(Type to) {
  constexpr Handler kRun = pair_from_pair<To, HalfElement>;
  return {to, Type::f16x2, "rn", Satfinite::required, true, kRun, kRun};
}
template <class From>
constexpr Conversion widen(Type from) {
  constexpr Handler kRun = pair_from_pair<HalfElement, From>;
  return {Type::f16x2, from, "rn", Satfinite::refused, true, kRun, kRun};
}
template <Rounding kRounding>
constexpr Conversion to_tf32(std::string_view rounding, bool relu) {
  constexpr Handler kRun = float_to_tf32_lanes<kRounding>;
  return {Type::tf32, Type::f32, rounding, Satfinite::optional, relu, kRun, kRun};
}
template <Rounding kRounding>
constexpr Conversion scale_floats(std::string_view rounding) {
  return {Type::ue8m0x2,
          Type::f32,
          rounding,
          Satfinite::optional,
          false,
          pair_from_floats<Ue8m0<true>, kRounding, false>,
          pair_from_floats<Ue8m0<false>, kRounding, true>};
}
template <Rounding kRounding>
constexpr Conversion scale_halves(std::string_view rounding) {
  return {Type::ue8m0x2,
          Type::bf16x2,
          rounding,
          Satfinite::optional,
          false,
          pair_from_pair<Ue8m0<true>, BfloatElement, kRounding>,
          pair_from_pair<Ue8m0<false>, BfloatElement, kRounding>};
}

// PTX ISA 9.0, section 9.7.9.22 (cvt). Stochastic rounding (.rs) is not among them.
constexpr Conversion kConversions[] = {
    half_pair<HalfElement, Rounding::nearest_even>(Type::f16x2, "rn"),
    half_pair<HalfElement, Rounding::toward_zero>(Type::f16x2, "rz"),
    half_pair<BfloatElement, Rounding::nearest_even>(Type::bf16x2, "rn"),
    half_pair<BfloatElement, Rounding::toward_zero>(Type::bf16x2, "rz"),
    to_tf32<Rounding::nearest_away>("rna", false),
    to_tf32<Rounding::nearest_even>("rn", true),
    to_tf32<Rounding::toward_zero>("rz", true),
    narrow_floats<E4m3>(Type::e4m3x2),
    narrow_floats<E5m2>(Type::e5m2x2),
    narrow_floats<E2m3>(Type::e2m3x2),
    narrow_floats<E3m2>(Type::e3m2x2),
    narrow_floats<E2m1>(Type::e2m1x2),
    narrow_halves<E4m3>(Type::e4m3x2),
    narrow_halves<E5m2>(Type::e5m2x2),
    widen<E4m3>(Type::e4m3x2),
    widen<E5m2>(Type::e5m2x2),
    widen<E2m3>(Type::e2m3x2),
    widen<E3m2>(Type::e3m2x2),
    widen<E2m1>(Type::e2m1x2),
    scale_floats<Rounding::up>("rp"),
    scale_floats<Rounding::toward_zero>("rz"),
    scale_halves<Rounding::up>("rp"),
    scale_halves<Rounding::toward_zero>("rz"),
    {Type::bf16x2, Type::ue8m0x2, "rn", Satfinite::refused, false,
     pair_from_pair<BfloatElement, Ue8m0<false>>, pair_from_pair<BfloatElement, Ue8m0<false>>},
};

bool is_narrow(Type type) {
  return type == Type::tf32 || type == Type::f16x2 || type == Type::bf16x2 ||
         (type >= Type::e4m3 && type <= Type::ue8m0x2);
}

const Conversion& conversion_of(const Lowering& lowering, Type to, Type from) {
  for (const Conversion& conversion : kConversions)
    if (conversion.to == to && conversion.from == from && lowering.has(conversion.rounding))
      return conversion;
  Lowering::unsupported("a conversion between these types with this rounding");
}

/// Modifiers of the instruction against those the conversion has.
void check_modifiers(const Lowering& lowering, const Conversion& conversion) {
  lowering.accept_modifiers({conversion.rounding, "relu", "satfinite"});
  const bool satfinite = lowering.has("satfinite");
  if (lowering.has("relu") && !conversion.relu) Lowering::unsupported("modifier .relu with these types");
  if (satfinite && conversion.satfinite == Satfinite::refused)
    Lowering::unsupported("modifier .satfinite with these types");
  if (!satfinite && conversion.satfinite == Satfinite::required)
    Lowering::unsupported("these types without .satfinite");
}

}  // namespace

std::optional<Op> lower_narrow(Lowering& lowering, Type to, Type from) {
  if (!is_narrow(to) && !is_narrow(from)) return std::nullopt;
  const Conversion& conversion = conversion_of(lowering, to, from);
  check_modifiers(lowering, conversion);
  const bool two_sources = from == Type::f32 && to != Type::tf32;
  if (lowering.operand_count() != (two_sources ? 3 : 2)) Lowering::unsupported("this number of operands");
  Op op;
  op.aux = convert_flags(lowering);
  op.run = op.aux == 0 ? conversion.run_plain : conversion.run;
  op.d = lowering.destination(lowering.operand(0), to);
  op.a = lowering.source(lowering.operand(1), from);
  if (two_sources) op.b = lowering.source(lowering.operand(2), from);
  return op;
}

}  // namespace ak::emulator
