// SPDX-License-Identifier: Apache-2.0
// min, max, sign operations and testp of f32 and f64.
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/rounding.h"
#include "emulator/ops/float_ops.h"

namespace ak::emulator {
namespace {

// Modifiers of min and max, bits of the index of a handler.
constexpr unsigned kMax = 1, kFtz = 2, kNan = 4, kAbs = 8, kXorsign = 16;
constexpr std::size_t kF32Handlers = 32;

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
template <class Float>
constexpr BitsOf<Float> kSignOf = BitsOf<Float>{1} << (sizeof(Float) * 8 - 1);

template <class Float>
Float with_bits(BitsOf<Float> bits) {
  return std::bit_cast<Float>(bits);
}

/// The lesser or greater one, -0 below +0; the other one where one is NaN, `a` where both are.
template <bool kGreater, class Float>
Float extreme(Float a, Float b) {
  const Float picked = kGreater ? (a > b ? a : b) : (a < b ? a : b);
  // Equal numbers differ in sign only, as zeros: the result is negative if either (min) or both (max) are.
  const Float same = with_bits<Float>(kGreater ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b));
  const Float ordered = a == b ? same : picked;
  const Float or_b = a != a ? b : ordered;
  return b != b ? a : or_b;
}

template <unsigned kFlags>
float extreme_f32(float a, float b) {
  const float nan = float_of(kCanonicalNan);
  const float result = canonical(extreme<(kFlags & kMax) != 0>(a, b));
  if constexpr ((kFlags & kNan) != 0) return (a != a) | (b != b) ? nan : result;
  return result;
}

template <unsigned kFlags>
float input(float x) {
  const float flushed = flush_if<(kFlags & kFtz) != 0>(x);
  return (kFlags & kAbs) != 0 ? float_of(bits_of(flushed) & ~kSignBit) : flushed;
}

template <unsigned kFlags>
void extreme2(Warp& warp, const Op& op) {
  map_lanes<float, float, float>(
      warp, op.d,
      [](float a, float b) {
        const float result = extreme_f32<kFlags>(input<kFlags>(a), input<kFlags>(b));
        if constexpr ((kFlags & kXorsign) == 0) return result;
        const float negated = float_of(bits_of(result) | ((bits_of(a) ^ bits_of(b)) & kSignBit));
        return result != result ? result : negated;
      },
      op.a, op.b);
}

template <unsigned kFlags>
void extreme3(Warp& warp, const Op& op) {
  map_lanes<float, float, float, float>(
      warp, op.d,
      [](float a, float b, float c) {
        return extreme_f32<kFlags>(extreme_f32<kFlags>(input<kFlags>(a), input<kFlags>(b)), input<kFlags>(c));
      },
      op.a, op.b, op.c);
}

template <bool kGreater>
void extreme_f64(Warp& warp, const Op& op) {
  map_lanes<double, double, double>(
      warp, op.d, [](double a, double b) { return extreme<kGreater>(a, b); }, op.a, op.b);
}

template <std::size_t... kIndex>
constexpr std::array<Handler, kF32Handlers> two_inputs(std::index_sequence<kIndex...>) {
  return {extreme2<kIndex>...};
}
template <std::size_t... kIndex>
constexpr std::array<Handler, kF32Handlers / 2> three_inputs(std::index_sequence<kIndex...>) {
  return {extreme3<kIndex>...};
}
constexpr auto kTwoInputs = two_inputs(std::make_index_sequence<kF32Handlers>{});
constexpr auto kThreeInputs = three_inputs(std::make_index_sequence<kF32Handlers / 2>{});

Op lower_extreme_f32(Lowering& lowering, unsigned flags) {
  const bool three = lowering.operand_count() == 4;
  lowering.accept_modifiers({"ftz", "NaN", "abs", three ? "abs" : "xorsign"});
  flags |= (lowering.has("ftz") ? kFtz : 0) | (lowering.has("NaN") ? kNan : 0) |
           (lowering.has("abs") ? kAbs : 0) | (lowering.has("xorsign") ? kXorsign : 0);
  return lower_operands(lowering, three ? kThreeInputs[flags] : kTwoInputs[flags], Type::f32, three ? 3 : 2);
}

std::optional<Op> lower_extreme(Lowering& lowering, unsigned flags) {
  const std::optional<Type> type = wide_float_type(lowering);
  if (!type) return std::nullopt;
  if (*type == Type::f32x2) Lowering::unsupported("type f32x2");
  lowering.classify(class_of(*type));
  if (*type == Type::f32) return lower_extreme_f32(lowering, flags);
  lowering.accept_modifiers({});
  return lower_operands(lowering, flags == kMax ? extreme_f64<true> : extreme_f64<false>, Type::f64, 2);
}

// Of f32 NaNs abs and neg give some NaN, here the canonical one; of f64 they change the sign bit alone.
template <bool kToAbs, bool kFlush>
void change_sign_f32(Warp& warp, const Op& op) {
  map_lanes<float, float>(
      warp, op.d,
      [](float a) {
        const std::uint32_t bits = bits_of(flush_if<kFlush>(a));
        return canonical(float_of(kToAbs ? bits & ~kSignBit : bits ^ kSignBit));
      },
      op.a);
}
template <bool kToAbs>
void change_sign_f64(Warp& warp, const Op& op) {
  map_lanes<std::uint64_t, std::uint64_t>(
      warp, op.d, [](std::uint64_t a) { return kToAbs ? a & ~kSignOf<double> : a ^ kSignOf<double>; }, op.a);
}

template <bool kToAbs>
std::optional<Op> lower_change_sign(Lowering& lowering) {
  const std::optional<Type> type = wide_float_type(lowering);
  if (!type) return std::nullopt;
  if (*type == Type::f32x2) Lowering::unsupported("type f32x2");
  lowering.classify(class_of(*type));
  if (*type == Type::f32) {
    lowering.accept_modifiers({"ftz"});
    const Handler run = lowering.has("ftz") ? change_sign_f32<kToAbs, true> : change_sign_f32<kToAbs, false>;
    return lower_operands(lowering, run, Type::f32, 1);
  }
  lowering.accept_modifiers({});
  return lower_operands(lowering, change_sign_f64<kToAbs>, Type::f64, 1);
}

/// The sign of a on the magnitude of b.
template <class Bits>
void copysign(Warp& warp, const Op& op) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  map_lanes<Bits, Bits, Bits>(
      warp, op.d, [](Bits a, Bits b) { return (a & kSign) | (b & ~kSign); }, op.a, op.b);
}

// Classes of numbers by their magnitude, for testp.
template <class Float>
constexpr BitsOf<Float> kInfinityBits = std::bit_cast<BitsOf<Float>>(std::numeric_limits<Float>::infinity());
template <class Float>
constexpr BitsOf<Float> kSmallestNormalBits = std::bit_cast<BitsOf<Float>>(std::numeric_limits<Float>::min());

struct Finite {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m < kInfinityBits<Float>;
  }
};
struct Infinite {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m == kInfinityBits<Float>;
  }
};
struct Number {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m <= kInfinityBits<Float>;
  }
};
struct NotANumber {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m > kInfinityBits<Float>;
  }
};
/// Zero counts as normal.
struct Normal {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m == 0 || (m >= kSmallestNormalBits<Float> && m < kInfinityBits<Float>);
  }
};
struct Subnormal {
  template <class Float>
  static bool test(BitsOf<Float> m) {
    return m != 0 && m < kSmallestNormalBits<Float>;
  }
};

/// Op::d is a PredicateSlot.
template <class Test, class Float>
void test_property(Warp& warp, const Op& op) {
  const BitsOf<Float>* a = source<BitsOf<Float>>(warp, op.a);
  alignas(64) std::int32_t truth[kLanes];
  for (int i = 0; i < kLanes; ++i) truth[i] = Test::template test<Float>(a[i] & ~kSignOf<Float>) ? 1 : 0;
  set_predicate(warp, op.d, to_mask(truth));
}

struct Property {
  std::string_view name;
  Handler f32, f64;
};
template <class Test>
constexpr Property property(std::string_view name) {
  return {name, test_property<Test, float>, test_property<Test, double>};
}
constexpr Property kProperties[] = {
    property<Finite>("finite"),         property<Infinite>("infinite"), property<Number>("number"),
    property<NotANumber>("notanumber"), property<Normal>("normal"),     property<Subnormal>("subnormal"),
};

}  // namespace

std::optional<Op> lower_float_min(Lowering& lowering) { return lower_extreme(lowering, 0); }
std::optional<Op> lower_float_max(Lowering& lowering) { return lower_extreme(lowering, kMax); }
std::optional<Op> lower_float_abs(Lowering& lowering) { return lower_change_sign<true>(lowering); }
std::optional<Op> lower_float_neg(Lowering& lowering) { return lower_change_sign<false>(lowering); }

std::optional<Op> lower_copysign(Lowering& lowering) {
  const std::optional<Type> type = wide_float_type(lowering);
  if (!type || *type == Type::f32x2) Lowering::unsupported("this type");
  lowering.accept_modifiers({});
  lowering.classify(class_of(*type));
  const Handler run = *type == Type::f32 ? copysign<std::uint32_t> : copysign<std::uint64_t>;
  return lower_operands(lowering, run, *type, 2);
}

std::optional<Op> lower_testp(Lowering& lowering) {
  const std::optional<Type> type = wide_float_type(lowering);
  if (!type || *type == Type::f32x2) Lowering::unsupported("this type");
  lowering.accept_modifiers({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (lowering.operand_count() != 2) Lowering::unsupported("this number of operands");
  for (const Property& property : kProperties) {
    if (!lowering.has(property.name)) continue;
    Op op;
    op.run = *type == Type::f32 ? property.f32 : property.f64;
    op.d = lowering.predicate_destination(lowering.operand(0));
    op.a = lowering.source(lowering.operand(1), *type);
    lowering.classify(InstructionClass::predicate);
    return op;
  }
  Lowering::unsupported("a test without a property");
}

}  // namespace ak::emulator
