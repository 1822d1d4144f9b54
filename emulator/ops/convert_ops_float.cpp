// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/convert_formats.h"
#include "emulator/ops/convert_ops.h"

namespace ak::emulator {
namespace {

template <class To, class Value>
Value clamp(Value value, std::uint32_t flags) {
  if ((flags & kConvertRelu) != 0) value = clamp_negative(value);
  if ((flags & kConvertSat) != 0) value = clamp_unit(value);
  if constexpr (sizeof(typename To::Stored) == 2)
    if ((flags & kConvertSatfinite) != 0) value = clamp_magnitude(value, static_cast<Value>(To::kLargest));
  return value;
}

template <class Format, class Value>
Value flush_f32(Value value, std::uint32_t flags) {
  if constexpr (Format::kFtz) return (flags & kConvertFtz) != 0 ? flush(value) : value;
  return value;
}

template <class To, class From, Rounding kRounding, bool kPlain>
void convert(Warp& warp, const Op& op) {
  const std::uint32_t flags = op.aux;
  map_lanes<typename To::Stored, typename From::Stored>(
      warp, op.d,
      [flags](typename From::Stored stored) -> typename To::Stored {
        if constexpr (kPlain) return To::template write<kRounding>(From::read(stored));
        const auto value = clamp<To>(flush_f32<From>(From::read(stored), flags), flags);
        return flush_f32<To>(To::template write<kRounding>(value), flags);
      },
      op.a);
}

/// .rni and similar ones between the same types.
template <class Format, Rounding kRounding>
void make_whole(Warp& warp, const Op& op) {
  using Stored = typename Format::Stored;
  const std::uint32_t flags = op.aux;
  map_lanes<Stored, Stored>(
      warp, op.d,
      [flags](Stored stored) -> Stored {
        const auto value = flush_f32<Format>(Format::read(stored), flags);
        return Format::template write<Rounding::nearest_even>(
            clamp<Format>(round_whole<kRounding>(value), flags));
      },
      op.a);
}

/// [rounding][plain].
using Handlers = Handler[4][2];
template <class To, class From>
constexpr Handlers kConvert = {
    {convert<To, From, Rounding::nearest_even, false>, convert<To, From, Rounding::nearest_even, true>},
    {convert<To, From, Rounding::toward_zero, false>, convert<To, From, Rounding::toward_zero, true>},
    {convert<To, From, Rounding::down, false>, convert<To, From, Rounding::down, true>},
    {convert<To, From, Rounding::up, false>, convert<To, From, Rounding::up, true>}};
/// Where every value of From is one of To.
template <class To, class From>
constexpr Handlers kWiden = {
    {convert<To, From, Rounding::nearest_even, false>, convert<To, From, Rounding::nearest_even, true>}};

/// [to][from]; a table without further rows needs no rounding.
constexpr const Handlers* kHandlers[4][4] = {
    {&kWiden<HalfFormat, HalfFormat>, &kConvert<HalfFormat, BfloatFormat>,
     &kConvert<HalfFormat, SingleFormat>, &kConvert<HalfFormat, DoubleFormat>},
    {&kConvert<BfloatFormat, HalfFormat>, &kWiden<BfloatFormat, BfloatFormat>,
     &kConvert<BfloatFormat, SingleFormat>, &kConvert<BfloatFormat, DoubleFormat>},
    {&kWiden<SingleFormat, HalfFormat>, &kWiden<SingleFormat, BfloatFormat>,
     &kWiden<SingleFormat, SingleFormat>, &kConvert<SingleFormat, DoubleFormat>},
    {&kWiden<DoubleFormat, HalfFormat>, &kWiden<DoubleFormat, BfloatFormat>,
     &kWiden<DoubleFormat, SingleFormat>, &kWiden<DoubleFormat, DoubleFormat>}};

template <class Format>
constexpr Handler kWhole[4] = {make_whole<Format, Rounding::nearest_even>,
                               make_whole<Format, Rounding::toward_zero>, make_whole<Format, Rounding::down>,
                               make_whole<Format, Rounding::up>};
constexpr const Handler* kWholeOf[4] = {kWhole<HalfFormat>, kWhole<BfloatFormat>, kWhole<SingleFormat>,
                                        kWhole<DoubleFormat>};

Handler handler_of(const Lowering& lowering, ScalarFloat to, ScalarFloat from, std::uint32_t flags) {
  const auto whole = integer_rounding(lowering);
  const auto rounding = float_rounding(lowering);
  if (whole && (to != from || rounding))
    Lowering::unsupported("rounding to a whole number and to another type");
  if (whole) return kWholeOf[static_cast<int>(to)][index_of(*whole)];
  const Handlers& handlers = *kHandlers[static_cast<int>(to)][static_cast<int>(from)];
  const bool exact = handlers[1][0] == nullptr;
  if (!exact && !rounding) Lowering::unsupported("a conversion that rounds without saying how");
  return handlers[exact ? 0 : index_of(*rounding)][flags == 0];
}

}  // namespace

Op lower_float_to_float(Lowering& lowering, Type to, Type from) {
  lowering.accept_modifiers(
      {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu", "satfinite"});
  const bool narrow = (to == Type::f16 || to == Type::bf16) && from == Type::f32;
  if (!narrow && (lowering.has("relu") || lowering.has("satfinite")))
    Lowering::unsupported("modifier .relu or .satfinite with these types");
  Op op;
  op.aux = convert_flags(lowering);
  op.run = handler_of(lowering, scalar_float(to), scalar_float(from), op.aux);
  op.d = lowering.destination(lowering.operand(0), to);
  op.a = lowering.source(lowering.operand(1), from);
  return op;
}

}  // namespace ak::emulator
