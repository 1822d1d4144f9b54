// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/convert_formats.h"
#include "emulator/ops/convert_ops.h"

namespace ak::emulator {
namespace {

// Between integers and floats. Integers narrower than 32 bits are computed as 32-bit ones.

/// A whole `value` as an integer, clamped; NaN as 0.
template <class Integer, class Value>
Integer to_integer(Value value) {
  using Signed = std::make_signed_t<Integer>;
  using Bits = std::make_unsigned_t<Integer>;
  constexpr Value kHalf = sizeof(Integer) == 4 ? Value{0x1p31} : Value{0x1p63};
  constexpr Value kLimit = std::is_signed_v<Integer> ? kHalf : 2 * kHalf;
  constexpr Value kLow = std::is_signed_v<Integer> ? -kHalf : Value{0};
  const bool inside = value >= kLow && value < kLimit;
  // Hosts convert to signed integers: what is above those is shifted into their range.
  const bool upper = !std::is_signed_v<Integer> && value >= kHalf;
  const Value kept = inside ? value : Value{0};
  const Bits low = static_cast<Bits>(static_cast<Signed>(upper && inside ? kept - kHalf : kept));
  const Bits result = upper ? low + (Bits{1} << (sizeof(Bits) * 8 - 1)) : low;
  Integer clamped = value >= kLimit ? std::numeric_limits<Integer>::max() : static_cast<Integer>(result);
  return value < kLow ? std::numeric_limits<Integer>::min() : clamped;
}

/// Range of the destination type and the bits that its register keeps.
template <class Integer>
struct Range {
  Integer low, high, nan;
  std::make_unsigned_t<Integer> mask;
};

/// Op::aux of a conversion to an integer.
constexpr std::uint32_t kWidthMask = 0xFFu, kNarrowRegister = 0x100u, kFlush = 0x200u, kNanBit = 0x400u;

template <class Integer>
Range<Integer> range_of(std::uint32_t aux) {
  using Limits = std::numeric_limits<Integer>;
  const int cut = static_cast<int>(sizeof(Integer) * 8 - (aux & kWidthMask));
  Range<Integer> range{};
  range.low = static_cast<Integer>(Limits::min() >> cut);
  range.high = static_cast<Integer>(Limits::max() >> cut);
  const Integer top = std::is_signed_v<Integer> ? range.low : static_cast<Integer>(range.high / 2 + 1);
  range.nan = (aux & kNanBit) != 0 ? top : Integer{0};
  range.mask = static_cast<std::make_unsigned_t<Integer>>(-1);
  if ((aux & kNarrowRegister) != 0) range.mask = 0xFFFFu;
  return range;
}

template <class Integer, class From, Rounding kRounding>
void round_to_integer(Warp& warp, const Op& op) {
  using Bits = std::make_unsigned_t<Integer>;
  const Range<Integer> range = range_of<Integer>(op.aux);
  const bool ftz = (op.aux & kFlush) != 0;
  map_lanes<Bits, typename From::Stored>(
      warp, op.d,
      [range, ftz](typename From::Stored stored) {
        auto value = From::read(stored);
        if constexpr (From::kFtz) value = ftz ? flush(value) : value;
        const Integer wide = to_integer<Integer>(round_whole<kRounding>(value));
        const Integer clamped = std::min(std::max(wide, range.low), range.high);
        return static_cast<Bits>(value != value ? range.nan : clamped) & range.mask;
      },
      op.a);
}

template <class Integer, class From>
constexpr Handler kRoundings[4] = {round_to_integer<Integer, From, Rounding::nearest_even>,
                                   round_to_integer<Integer, From, Rounding::toward_zero>,
                                   round_to_integer<Integer, From, Rounding::down>,
                                   round_to_integer<Integer, From, Rounding::up>};
/// By ScalarFloat.
template <class Integer>
constexpr const Handler* kToInteger[4] = {kRoundings<Integer, HalfFormat>, kRoundings<Integer, BfloatFormat>,
                                          kRoundings<Integer, SingleFormat>,
                                          kRoundings<Integer, DoubleFormat>};

const Handler* to_integer_handlers(Type to, ScalarFloat from) {
  const auto column = static_cast<std::size_t>(from);
  if (bits(to) == 64)
    return is_signed(to) ? kToInteger<std::int64_t>[column] : kToInteger<std::uint64_t>[column];
  return is_signed(to) ? kToInteger<std::int32_t>[column] : kToInteger<std::uint32_t>[column];
}

/// A double that rounds to narrower formats as the integer does: exact, or rounded to odd.
inline double to_double(std::int32_t value) { return value; }
inline double to_double(std::uint32_t value) { return value; }
inline double to_double(std::uint64_t value) {
  const bool wide = value >> 53 != 0;
  const std::uint64_t cut = value >> 11 | ((value & 0x7FFu) != 0 ? 1u : 0u);
  return static_cast<double>(static_cast<std::int64_t>(wide ? cut : value)) * (wide ? 2048.0 : 1.0);
}
inline double to_double(std::int64_t value) {
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  const double magnitude = to_double(value < 0 ? 0 - bits : bits);
  return value < 0 ? -magnitude : magnitude;
}

/// `nearest` moved to its neighbour where the direction demands; `error` is the exact number less `nearest`.
template <Rounding kRounding>
double direct(double nearest, double error) {
  const std::uint64_t bits = bits_of(nearest);
  const bool negative = bits >> 63 != 0;
  const bool inward = negative ? error > 0 : error < 0, outward = negative ? error < 0 : error > 0;
  if constexpr (kRounding == Rounding::toward_zero) return double_of(inward ? bits - 1 : bits);
  const bool toward_inward = negative == (kRounding == Rounding::up);
  if (toward_inward) return double_of(inward ? bits - 1 : bits);
  return double_of(outward ? bits + 1 : bits);
}

/// A 64-bit integer as f64.
template <Rounding kRounding, class Integer>
double round_to_double(Integer value) {
  if constexpr (kRounding == Rounding::nearest_even || sizeof(Integer) == 4)
    return static_cast<double>(value);
  else {
    const double high = static_cast<double>(value >> 32) * 0x1p32, low = static_cast<std::uint32_t>(value);
    const double sum = high + low;  // |high| >= low or high is 0
    return direct<kRounding>(sum, low - (sum - high));
  }
}

template <class To, class Integer, Rounding kRounding>
typename To::Stored from_integer(Integer value) {
  constexpr bool kNarrow = sizeof(Integer) == 4;
  if constexpr (std::is_same_v<To, DoubleFormat>) return round_to_double<kRounding>(value);
  if constexpr (std::is_same_v<To, SingleFormat> && kNarrow && kRounding == Rounding::nearest_even)
    return static_cast<float>(value);
  return To::template write<kRounding>(to_double(value));
}

/// Op::aux of a conversion from an integer: bits of its type.
constexpr std::uint32_t kSaturate = 0x100u;

template <class To, class Integer, Rounding kRounding>
void round_from_integer(Warp& warp, const Op& op) {
  using Bits = std::make_unsigned_t<Integer>;
  const int cut = static_cast<int>(sizeof(Integer) * 8 - (op.aux & kWidthMask));
  const bool sat = (op.aux & kSaturate) != 0;
  map_lanes<typename To::Stored, Bits>(
      warp, op.d,
      [cut, sat](Bits lane) {
        Integer value = static_cast<Integer>(static_cast<Integer>(lane << cut) >> cut);
        const Integer unit = std::min(std::max(value, Integer{0}), Integer{1});
        return from_integer<To, Integer, kRounding>(sat ? unit : value);
      },
      op.a);
}

template <class To, class Integer>
constexpr Handler kFrom[4] = {round_from_integer<To, Integer, Rounding::nearest_even>,
                              round_from_integer<To, Integer, Rounding::toward_zero>,
                              round_from_integer<To, Integer, Rounding::down>,
                              round_from_integer<To, Integer, Rounding::up>};
template <class Integer>
constexpr const Handler* kFromInteger[4] = {kFrom<HalfFormat, Integer>, kFrom<BfloatFormat, Integer>,
                                            kFrom<SingleFormat, Integer>, kFrom<DoubleFormat, Integer>};

const Handler* from_integer_handlers(ScalarFloat to, Type from) {
  const auto column = static_cast<std::size_t>(to);
  if (bits(from) == 64)
    return is_signed(from) ? kFromInteger<std::int64_t>[column] : kFromInteger<std::uint64_t>[column];
  return is_signed(from) ? kFromInteger<std::int32_t>[column] : kFromInteger<std::uint32_t>[column];
}

}  // namespace

Op lower_float_to_integer(Lowering& lowering, Type to, Type from) {
  // Results are clamped with and without .sat.
  lowering.accept_modifiers({"rni", "rzi", "rmi", "rpi", "ftz", "sat"});
  const auto rounding = integer_rounding(lowering);
  if (!rounding) Lowering::unsupported("a float to an integer without a rounding");
  const Operand& target = lowering.operand(0);
  const int to_register = lowering.register_bits(target, to);
  if (to_register < bits(to) || (to_register > 32) != (bits(to) > 32))
    Lowering::unsupported("a register of this size");
  Op op;
  op.run = to_integer_handlers(to, scalar_float(from))[index_of(*rounding)];
  op.aux = static_cast<std::uint32_t>(bits(to));
  if (to_register == 16) op.aux |= kNarrowRegister;
  if (lowering.has("ftz")) op.aux |= kFlush;
  // NaN is 0 only when neither type has 64 bits (PTX ISA 9.0, cvt).
  if (from == Type::f64 || bits(to) == 64) op.aux |= kNanBit;
  op.d = lowering.destination(target, bits(to) == 64 ? Type::b64 : Type::b32);
  op.a = lowering.source(lowering.operand(1), from);
  return op;
}

Op lower_integer_to_float(Lowering& lowering, Type to, Type from) {
  lowering.accept_modifiers({"rn", "rz", "rm", "rp", "ftz", "sat"});
  const auto rounding = float_rounding(lowering);
  if (!rounding) Lowering::unsupported("an integer to a float without a rounding");
  Op op;
  op.run = from_integer_handlers(scalar_float(to), from)[index_of(*rounding)];
  op.aux = static_cast<std::uint32_t>(bits(from)) | (lowering.has("sat") ? kSaturate : 0u);
  op.d = lowering.destination(lowering.operand(0), to);
  op.a = lowering.source(lowering.operand(1), from);
  return op;
}

}  // namespace ak::emulator
