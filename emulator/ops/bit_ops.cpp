// SPDX-License-Identifier: Apache-2.0
// Shifts, permutations, fields and counts of bits.
#include <bit>

#include "emulator/ops/integer_types.h"

namespace ak::emulator {
namespace {

// ---- shifts: amounts beyond the width give zero or the sign

template <class T, class>
struct ShiftLeft {
  static void run(Warp& warp, const Op& op) {
    map_lanes<T, T, std::uint32_t>(
        warp, op.d,
        [](T a, std::uint32_t n) {
          constexpr std::uint32_t kWidth = 8 * sizeof(T);
          using W = std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>;
          const W shifted = static_cast<W>(static_cast<W>(a) << (n & (8 * sizeof(W) - 1)));
          return static_cast<T>(n < kWidth ? shifted : W{0});
        },
        op.a, op.b);
  }
};
template <class T, class>
struct ShiftRight {
  static void run(Warp& warp, const Op& op) {
    map_lanes<T, T, std::uint32_t>(
        warp, op.d,
        [](T a, std::uint32_t n) {
          constexpr std::uint32_t kWidth = 8 * sizeof(T);
          if constexpr (std::is_signed_v<T>)
            return static_cast<T>(a >> (n < kWidth ? n : kWidth - 1));
          else
            return static_cast<T>(n < kWidth ? a >> (n & (kWidth - 1)) : T{0});
        },
        op.a, op.b);
  }
};

template <template <class, class> class Make, bool KeepsSign>
std::optional<Op> lower_shift(Lowering& lowering) {
  lowering.accept_modifiers({});
  Type type = lowering.type();
  if (!KeepsSign && (type == Type::s16 || type == Type::s32 || type == Type::s64))
    Lowering::unsupported("shl of this type");
  const Handler run = handler_for<Make, void>(type);
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::integer);
  return Op{.run = run,
            .d = lowering.destination(lowering.operand(0), type),
            .a = lowering.source(lowering.operand(1), type),
            .b = lowering.source(lowering.operand(2), Type::u32)};
}

// shf: the upper or lower half of a 64-bit value shifted.
template <bool Left, bool Wrap>
void funnel(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t low, std::uint32_t high, std::uint32_t n) {
        const std::uint32_t amount = Wrap ? n & 31 : n < 32 ? n : 32;
        const std::uint64_t whole = std::uint64_t{high} << 32 | low;
        return static_cast<std::uint32_t>(Left ? whole << amount >> 32 : whole >> amount);
      },
      op.a, op.b, op.c);
}
std::optional<Op> lower_shf(Lowering& lowering) {
  lowering.accept_modifiers({"l", "r", "clamp", "wrap"});
  const bool wrap = lowering.has("wrap");
  const Handler run = lowering.has("l") ? (wrap ? funnel<true, true> : funnel<true, false>)
                                        : (wrap ? funnel<false, true> : funnel<false, false>);
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, run, Type::b32);
}

// ---- prmt: bytes of {b, a} chosen by the nibbles of c

enum class Permute : std::uint32_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

template <Permute Mode>
std::uint32_t selector(std::uint32_t c) {
  const std::uint32_t n = c & 3;
  switch (Mode) {
    case Permute::index:
      return c;
    case Permute::f4e:
      return 0x3210u + 0x1111u * n;
    case Permute::b4e:
      return ((n & 7) | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12);
    case Permute::rc8:
      return 0x1111u * n;
    case Permute::ecl:
      return 3u << 12 | (n > 2 ? n : 2u) << 8 | (n > 1 ? n : 1u) << 4 | n;
    case Permute::ecr:
      return n << 12 | (n < 2 ? n : 2u) << 8 | (n < 1 ? n : 1u) << 4;
    case Permute::rc16:
      return (c & 1) != 0 ? 0x3232u : 0x1010u;
  }
  return 0;
}

template <Permute Mode>
void prmt(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
        const std::uint32_t select = selector<Mode>(c);
        std::uint32_t result = 0;
        for (std::uint32_t i = 0; i < 4; ++i) {
          const std::uint32_t choice = select >> 4 * i & 0xF;
          const auto byte = static_cast<std::uint32_t>(bytes >> 8 * (choice & 7) & 0xFF);
          const std::uint32_t sign = (byte & 0x80u) != 0 ? 0xFFu : 0u;
          result |= ((choice & 8) != 0 && Mode == Permute::index ? sign : byte) << 8 * i;
        }
        return result;
      },
      op.a, op.b, op.c);
}
std::optional<Op> lower_prmt(Lowering& lowering) {
  lowering.accept_modifiers({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  const Handler run = lowering.has("f4e")    ? prmt<Permute::f4e>
                      : lowering.has("b4e")  ? prmt<Permute::b4e>
                      : lowering.has("rc8")  ? prmt<Permute::rc8>
                      : lowering.has("ecl")  ? prmt<Permute::ecl>
                      : lowering.has("ecr")  ? prmt<Permute::ecr>
                      : lowering.has("rc16") ? prmt<Permute::rc16>
                                             : prmt<Permute::index>;
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, run, Type::b32);
}

// ---- lop3: any function of three bits, by its truth table

std::uint32_t lookup(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint32_t term =
        ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
    result |= (table >> row & 1u) != 0 ? term : 0;
  }
  return result;
}
void lop3(Warp& warp, const Op& op) {
  const std::uint32_t table = op.aux;
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [table](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return lookup(a, b, c, table); }, op.a,
      op.b, op.c);
}
std::optional<Op> lower_lop3(Lowering& lowering) {
  lowering.accept_modifiers({});  // the forms with a predicate result are refused
  const Operand& table = lowering.operand(4);
  if (table.kind != OperandKind::integer) Lowering::unsupported("a table that is not a constant");
  lowering.classify(InstructionClass::integer);
  return Op{.run = lop3,
            .d = lowering.destination(lowering.operand(0), Type::b32),
            .a = lowering.source(lowering.operand(1), Type::b32),
            .b = lowering.source(lowering.operand(2), Type::b32),
            .c = lowering.source(lowering.operand(3), Type::b32),
            .aux = static_cast<std::uint32_t>(table.bits & 0xFF)};
}

// ---- counts

struct Population {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(static_cast<Unsigned<T>>(a)));
  }
};
struct LeadingZeros {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(a)));
  }
};
/// Position of the most significant bit that is not the sign; -1 if there is none. Or the shift to
/// move it up.
template <bool ShiftAmount>
struct FindBit {
  template <class T>
  std::uint32_t operator()(T a) const {
    const auto value = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < T{0} ? ~a : a);
    if (value == 0) return 0xFFFFFFFFu;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(value));
    return ShiftAmount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T)) - 1 - zeros;
  }
};
struct Reverse {
  template <class T>
  T operator()(T a) const {
    T result = 0;
    for (std::size_t i = 0; i < 8 * sizeof(T); ++i) result = static_cast<T>(result << 1 | (a >> i & 1u));
    return result;
  }
};

std::optional<Op> counting(Lowering& lowering, Handler run) {
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::integer);
  return Op{.run = run,
            .d = lowering.destination(lowering.operand(0), Type::u32),
            .a = lowering.source(lowering.operand(1), lowering.type())};
}
template <class F>
std::optional<Op> lower_count(Lowering& lowering) {
  lowering.accept_modifiers({});
  return counting(lowering, handler_for<Counting, F>(lowering.type()));
}
std::optional<Op> lower_bfind(Lowering& lowering) {
  lowering.accept_modifiers({"shiftamt"});
  return counting(lowering, lowering.has("shiftamt")
                                ? handler_for<Counting, FindBit<true>>(lowering.type())
                                : handler_for<Counting, FindBit<false>>(lowering.type()));
}
std::optional<Op> lower_brev(Lowering& lowering) {
  lowering.accept_modifiers({});
  lowering.classify(InstructionClass::integer);
  return lower_plain(
      lowering,
      bits(lowering.type()) == 64 ? Unary<std::uint64_t, Reverse>::run : Unary<std::uint32_t, Reverse>::run,
      lowering.type());
}

// fns: position of the n-th set bit from `base` on, upwards or downwards.
std::uint32_t find_nth(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  if (n == 0) return (mask >> (base & 31) & 1u) != 0 ? base : 0xFFFFFFFFu;
  const int step = n < 0 ? -1 : 1;
  std::int64_t left = n < 0 ? -std::int64_t{n} : n;
  for (int at = static_cast<int>(base & 31); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
  }
  return 0xFFFFFFFFu;
}
void fns(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t>(warp, op.d, find_nth, op.a, op.b,
                                                                       op.c);
}
std::optional<Op> lower_fns(Lowering& lowering) {
  lowering.accept_modifiers({});
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, fns, Type::b32);
}

// ---- fields: position and length are the low 8 bits of 32-bit operands

template <class T, class>
struct Extract {
  static void run(Warp& warp, const Op& op) {
    map_lanes<T, T, std::uint32_t, std::uint32_t>(
        warp, op.d,
        [](T a, std::uint32_t position, std::uint32_t length) {
          constexpr std::uint32_t kWidth = 8 * sizeof(T), kTop = kWidth - 1;
          position &= 0xFF;
          length &= 0xFF;
          const auto value = static_cast<Unsigned<T>>(a);
          const std::uint32_t last =
              position + length - 1 < kTop && length != 0 ? position + length - 1 : kTop;
          const bool negative = std::is_signed_v<T> && length != 0 && (value >> last & 1u) != 0;
          const Unsigned<T> fill = negative ? static_cast<Unsigned<T>>(~Unsigned<T>{0}) : Unsigned<T>{0};
          const auto shifted =
              static_cast<Unsigned<T>>(position < kWidth ? value >> (position & kTop) : fill);
          if (length == 0) return T{0};
          // Bits beyond the word count as the fill, like those beyond the field.
          const std::uint32_t available = position < kWidth ? kWidth - position : 0;
          const std::uint32_t kept = length < available ? length : available;
          const auto mask = static_cast<Unsigned<T>>(kept >= kWidth ? ~Unsigned<T>{0}
                                                                    : (Unsigned<T>{1} << (kept & kTop)) - 1);
          return static_cast<T>((shifted & mask) | (fill & ~mask));
        },
        op.a, op.b, op.c);
  }
};

std::optional<Op> lower_bfe(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  lowering.classify(InstructionClass::integer);
  return Op{.run = handler_for<Extract, void>(type),
            .d = lowering.destination(lowering.operand(0), type),
            .a = lowering.source(lowering.operand(1), type),
            .b = lowering.source(lowering.operand(2), Type::u32),
            .c = lowering.source(lowering.operand(3), Type::u32)};
}

/// Ones at [position, position + length), what lies beyond the word dropped.
template <class T>
T field_mask(std::uint32_t position, std::uint32_t length) {
  constexpr std::uint32_t kWidth = 8 * sizeof(T);
  const T ones = length >= kWidth ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  return position >= kWidth ? T{0} : static_cast<T>(ones << position);
}
template <class T>
void insert(Warp& warp, const Op& op) {
  map_lanes<T, T, T, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](T field, T into, std::uint32_t position, std::uint32_t length) {
        constexpr std::uint32_t kWidth = 8 * sizeof(T);
        position &= 0xFF;
        const T mask = field_mask<T>(position, length & 0xFF);
        const T moved = position < kWidth ? static_cast<T>(field << position) : T{0};
        return static_cast<T>((moved & mask) | (into & ~mask));
      },
      op.a, op.b, op.c, op.aux);
}
std::optional<Op> lower_bfi(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  lowering.classify(InstructionClass::integer);
  return Op{.run = bits(type) == 64 ? insert<std::uint64_t> : insert<std::uint32_t>,
            .d = lowering.destination(lowering.operand(0), type),
            .a = lowering.source(lowering.operand(1), type),
            .b = lowering.source(lowering.operand(2), type),
            .c = lowering.source(lowering.operand(3), Type::u32),
            .aux = lowering.source(lowering.operand(4), Type::u32)};
}

// szext: the low b bits of a, with their sign or with zeros. bmsk: ones from a, b bits long.
template <bool Signed, bool Wrap>
void szext(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t length = Wrap ? b & 31 : b;
        if (length >= 32) return a;
        if (length == 0) return 0u;
        const std::uint32_t up = a << (32 - length);
        return Signed ? static_cast<std::uint32_t>(static_cast<std::int32_t>(up) >> (32 - length))
                      : up >> (32 - length);
      },
      op.a, op.b);
}
std::optional<Op> lower_szext(Lowering& lowering) {
  lowering.accept_modifiers({"clamp", "wrap"});
  const bool wrap = lowering.has("wrap"), is_signed_type = lowering.type() == Type::s32;
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering,
                     is_signed_type ? (wrap ? szext<true, true> : szext<true, false>)
                                    : (wrap ? szext<false, true> : szext<false, false>),
                     Type::b32);
}
template <bool Wrap>
void bmsk(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b) {
        return Wrap ? field_mask<std::uint32_t>(a & 31, b & 31) : field_mask<std::uint32_t>(a, b);
      },
      op.a, op.b);
}
std::optional<Op> lower_bmsk(Lowering& lowering) {
  lowering.accept_modifiers({"clamp", "wrap"});
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, lowering.has("wrap") ? bmsk<true> : bmsk<false>, Type::b32);
}

}  // namespace

std::span<const Mnemonic> bit_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"shl", lower_shift<ShiftLeft, false>},
      {"shr", lower_shift<ShiftRight, true>},
      {"shf", lower_shf},
      {"prmt", lower_prmt},
      {"lop3", lower_lop3},
      {"popc", lower_count<Population>},
      {"clz", lower_count<LeadingZeros>},
      {"bfind", lower_bfind},
      {"brev", lower_brev},
      {"fns", lower_fns},
      {"bfe", lower_bfe},
      {"bfi", lower_bfi},
      {"szext", lower_szext},
      {"bmsk", lower_bmsk},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
