// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>

#include "emulator/machine/lanes.h"
#include "emulator/ops/convert_ops.h"

namespace ak::emulator {
namespace {

/// Op::aux of an integer conversion.
struct Widths {
  std::uint32_t from, to, reg;  ///< bits of the types and of the destination register
  [[nodiscard]] std::uint32_t packed() const { return from | to << 8 | reg << 16; }
  [[nodiscard]] static Widths of(std::uint32_t aux) { return {aux & 0xFFu, aux >> 8 & 0xFFu, aux >> 16}; }
};

enum class Fit : std::uint8_t {
  whole,  ///< the types fill their lanes: nothing to cut
  cut,
  saturate,
};

template <class L, bool kSigned>
using Integer = std::conditional_t<kSigned, std::make_signed_t<L>, L>;

/// The low `width` bits, extended to the lane.
template <class L, bool kSigned>
Integer<L, kSigned> extend(L value, std::uint32_t width) {
  const int cut = static_cast<int>(sizeof(L) * 8 - width);
  return static_cast<Integer<L, kSigned>>(static_cast<L>(value << cut)) >> cut;
}

template <bool kSigned>
constexpr std::int64_t lowest(std::uint32_t width) {
  return kSigned ? std::numeric_limits<std::int64_t>::min() >> (64 - width) : 0;
}
template <bool kSigned>
constexpr std::uint64_t highest(std::uint32_t width) {
  return std::numeric_limits<std::uint64_t>::max() >> (kSigned ? 65 - width : 64 - width);
}

/// Bounds of the destination, in the type of the source.
template <class I, bool kToSigned>
struct Bounds {
  I low, high;
  explicit Bounds(std::uint32_t width) {
    using Limits = std::numeric_limits<I>;
    constexpr std::uint64_t kMax = static_cast<std::uint64_t>(Limits::max());
    high = static_cast<I>(std::min(highest<kToSigned>(width), kMax));
    low = std::is_signed_v<I>
              ? static_cast<I>(std::max(lowest<kToSigned>(width), static_cast<std::int64_t>(Limits::min())))
              : I{0};
  }
};

template <class To, class From, bool kToSigned, bool kFromSigned, Fit kFit>
void convert(Warp& warp, const Op& op) {
  using Value = Integer<From, kFromSigned>;
  const Widths widths = Widths::of(op.aux);
  const Bounds<Value, kToSigned> bounds(widths.to);
  const To mask = static_cast<To>(highest<false>(widths.reg));
  map_lanes<To, From>(
      warp, op.d,
      [widths, bounds, mask](From lane) -> To {
        if constexpr (kFit == Fit::whole) return static_cast<To>(static_cast<Value>(lane));
        Value value = extend<From, kFromSigned>(lane, widths.from);
        if constexpr (kFit == Fit::saturate) value = std::min(std::max(value, bounds.low), bounds.high);
        return static_cast<To>(extend<To, kToSigned>(static_cast<To>(value), widths.to)) & mask;
      },
      op.a);
}

/// [to signed][from signed][fit].
using Handlers = Handler[2][2][3];
template <class To, class From>
constexpr Handlers kConvert = {
    {{convert<To, From, false, false, Fit::whole>, convert<To, From, false, false, Fit::cut>,
      convert<To, From, false, false, Fit::saturate>},
     {convert<To, From, false, true, Fit::whole>, convert<To, From, false, true, Fit::cut>,
      convert<To, From, false, true, Fit::saturate>}},
    {{convert<To, From, true, false, Fit::whole>, convert<To, From, true, false, Fit::cut>,
      convert<To, From, true, false, Fit::saturate>},
     {convert<To, From, true, true, Fit::whole>, convert<To, From, true, true, Fit::cut>,
      convert<To, From, true, true, Fit::saturate>}}};

const Handlers& handlers(bool to_wide, bool from_wide) {
  using Word = std::uint32_t;
  using Long = std::uint64_t;
  if (to_wide) return from_wide ? kConvert<Long, Long> : kConvert<Long, Word>;
  return from_wide ? kConvert<Word, Long> : kConvert<Word, Word>;
}

std::uint32_t register_width(const Lowering& lowering, const Operand& operand, Type type) {
  const int width = lowering.register_bits(operand, type);
  if (width < bits(type) || width > 64) Lowering::unsupported("a register of this size");
  return static_cast<std::uint32_t>(width);
}
Type raw_type(std::uint32_t width) { return width == 64 ? Type::b64 : Type::b32; }

/// Where a source of `type` lies: constants are converted to it, registers may be wider than it.
Type source_type(const Lowering& lowering, const Operand& operand, Type type) {
  const bool reg = operand.kind == OperandKind::reg;
  return reg && register_width(lowering, operand, type) == 64 ? Type::b64 : type;
}

/// What `cvt.pack` narrows to.
struct PackFormat {
  std::string_view name;
  std::uint32_t width;
  bool is_signed;
};
constexpr PackFormat kPackFormats[] = {{"s16", 16, true}, {"u16", 16, false}, {"s8", 8, true},
                                       {"u8", 8, false},  {"s4", 4, true},    {"u4", 4, false},
                                       {"s2", 2, true},   {"u2", 2, false}};

template <bool kSigned, bool kMerge>
void pack(Warp& warp, const Op& op) {
  const std::uint32_t width = op.aux, mask = (1u << width) - 1;
  const Bounds<std::int32_t, kSigned> bounds(width);
  const auto narrow = [bounds, mask](std::int32_t value) {
    return static_cast<std::uint32_t>(std::min(std::max(value, bounds.low), bounds.high)) & mask;
  };
  if constexpr (kMerge) {
    map_lanes<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t>(
        warp, op.d,
        [=](std::int32_t a, std::int32_t b, std::uint32_t c) {
          return narrow(b) | narrow(a) << width | c << 2 * width;
        },
        op.a, op.b, op.c);
  } else {
    map_lanes<std::uint32_t, std::int32_t, std::int32_t>(
        warp, op.d, [=](std::int32_t a, std::int32_t b) { return narrow(b) | narrow(a) << width; }, op.a,
        op.b);
  }
}

const PackFormat& pack_format(const Lowering& lowering) {
  for (const PackFormat& format : kPackFormats)
    if (lowering.has(format.name)) return format;
  Lowering::unsupported("cvt.pack to this type");
}

}  // namespace

Op lower_integer_to_integer(Lowering& lowering, Type to, Type from) {
  lowering.accept_modifiers({"sat"});
  const Operand& target = lowering.operand(0);
  const Operand& source = lowering.operand(1);
  const std::uint32_t to_register = register_width(lowering, target, to);
  const Type from_lane = source_type(lowering, source, from);
  const Widths widths{static_cast<std::uint32_t>(bits(from)), static_cast<std::uint32_t>(bits(to)),
                      to_register};
  const std::uint32_t to_lane = to_register == 64 ? 64 : 32, from_bits = bits(from_lane) == 64 ? 64 : 32;
  Fit fit = widths.from == from_bits && widths.to == to_lane ? Fit::whole : Fit::cut;
  if (lowering.has("sat")) fit = Fit::saturate;
  Op op;
  op.run = handlers(to_lane == 64, from_bits == 64)[is_signed(to)][is_signed(from)][static_cast<int>(fit)];
  op.aux = widths.packed();
  op.d = lowering.destination(target, raw_type(to_lane));
  op.a = lowering.source(source, from_lane);
  return op;
}

Op lower_pack(Lowering& lowering) {
  lowering.accept_modifiers({"pack", "sat", "s2", "u2"});
  if (!lowering.has("sat") || !lowering.has("s32")) Lowering::unsupported("cvt.pack without .sat or .s32");
  const PackFormat& format = pack_format(lowering);
  const bool merge = lowering.has("b32");
  if (merge == (format.width == 16) || lowering.operand_count() != (merge ? 4 : 3))
    Lowering::unsupported("this number of operands");
  Op op;
  if (merge) op.run = format.is_signed ? pack<true, true> : pack<false, true>;
  if (!merge) op.run = format.is_signed ? pack<true, false> : pack<false, false>;
  op.aux = format.width;
  op.d = lowering.destination(lowering.operand(0), Type::b32);
  op.a = lowering.source(lowering.operand(1), Type::s32);
  op.b = lowering.source(lowering.operand(2), Type::s32);
  if (merge) op.c = lowering.source(lowering.operand(3), Type::b32);
  return op;
}

}  // namespace ak::emulator
