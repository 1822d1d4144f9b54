// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: logic_ops.cpp has the instructions on bits.
#include <algorithm>
#include <limits>

#include "emulator/numbers/element_operations.h"
#include "emulator/ops/integer_types.h"

namespace ak::emulator {
namespace {

// Arithmetic wraps, so it is done without signs, in 32 bits or more (16-bit products would overflow int).
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned<T>>;
template <class T>
Wide<T> wide(T value) {
  return static_cast<Wide<T>>(value);
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) + wide(b));
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) - wide(b));
  }
};
struct MultiplyLow {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) * wide(b));
  }
};
struct MultiplyAddLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(wide(a) * wide(b) + wide(c));
  }
};

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
template <class T>
using Doubled = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, Uint128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Doubled<T>>(a) * static_cast<Doubled<T>>(b) >> (8 * sizeof(T)));
  }
};
struct MultiplyAddHigh {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(MultiplyHigh{}(a, b), c);
  }
};

std::int32_t saturate(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}
struct AddSaturate {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return saturate(std::int64_t{a} + b); }
};
struct SubtractSaturate {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return saturate(std::int64_t{a} - b); }
};
struct MultiplyAddHighSaturate {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return saturate((std::int64_t{a} * b >> 32) + c);
  }
};

// The result of a division by zero is not specified; the hardware gives all ones, and the
// dividend as remainder.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return Subtract{}(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return 0;
    }
    return static_cast<T>(a % b);
  }
};

struct Absolute {
  template <class T>
  T operator()(T a) const {
    return a < T{0} ? Subtract{}(T{0}, a) : a;
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    return Subtract{}(T{0}, a);
  }
};
struct LeastRelu {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(T{0}, Least{}(a, b));
  }
};
struct GreatestRelu {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(T{0}, Greatest{}(a, b));
  }
};
/// |a - b| + c
struct SumAbsoluteDifference {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(c, a < b ? Subtract{}(b, a) : Subtract{}(a, b));
  }
};

// ---- products of twice the width

template <class T, class>
struct MultiplyWide {
  static void run(Warp& warp, const Op& op) {
    using D = Doubled<T>;
    map_lanes<D, T, T>(
        warp, op.d, [](T a, T b) { return static_cast<D>(static_cast<D>(a) * static_cast<D>(b)); }, op.a,
        op.b);
  }
};
template <class T, class>
struct MultiplyAddWide {
  static void run(Warp& warp, const Op& op) {
    using D = Doubled<T>;
    map_lanes<D, T, T, D>(
        warp, op.d,
        [](T a, T b, D c) {
          return static_cast<D>(static_cast<Unsigned<D>>(static_cast<D>(a) * static_cast<D>(b)) +
                                static_cast<Unsigned<D>>(c));
        },
        op.a, op.b, op.c);
  }
};

template <template <class, class> class Make>
Handler widening(Type type) {
  switch (type) {
    case Type::u16:
      return Make<std::uint16_t, void>::run;
    case Type::s16:
      return Make<std::int16_t, void>::run;
    case Type::u32:
      return Make<std::uint32_t, void>::run;
    case Type::s32:
      return Make<std::int32_t, void>::run;
    default:
      return nullptr;
  }
}

Type doubled(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

// ---- carries: one bit per lane, kept from the instruction with .cc to the one that takes it in

template <class T, bool Subtracts, bool TakesIn>
void with_carry(Warp& warp, const Op& op) {
  const T* a = source<T>(warp, op.a);
  const T* b = source<T>(warp, op.b);
  const std::uint32_t in = TakesIn ? warp.predicates[kCarry] : 0;
  alignas(64) T values[kLanes];
  std::uint32_t out = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const T carry = in >> lane & 1u;
    const T first = Subtracts ? a[lane] - b[lane] : a[lane] + b[lane];
    values[lane] = Subtracts ? first - carry : first + carry;
    const bool carried =
        Subtracts ? a[lane] < b[lane] || first < carry : first < a[lane] || values[lane] < first;
    out |= static_cast<std::uint32_t>(carried) << lane;
  }
  write_lanes(warp, destination<T>(warp, op.d), values);
  if (op.aux != 0) set_predicate(warp, kCarry, out);
}

template <class T, bool High>
void multiply_add_carry(Warp& warp, const Op& op) {
  const T* a = source<T>(warp, op.a);
  const T* b = source<T>(warp, op.b);
  const T* c = source<T>(warp, op.c);
  const bool takes_in = (op.aux & 2u) != 0;
  const std::uint32_t in = takes_in ? warp.predicates[kCarry] : 0;
  alignas(64) T values[kLanes];
  std::uint32_t out = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const T product = High ? MultiplyHigh{}(a[lane], b[lane]) : a[lane] * b[lane];
    const T first = product + c[lane];
    values[lane] = first + (in >> lane & 1u);
    out |= static_cast<std::uint32_t>(first < product || values[lane] < first) << lane;
  }
  write_lanes(warp, destination<T>(warp, op.d), values);
  if ((op.aux & 1u) != 0) set_predicate(warp, kCarry, out);
}

// ---- lowering

bool is_integer(Type type) { return type >= Type::b8 && type <= Type::s64 && type != Type::b128; }

std::optional<Op> plain(Lowering& lowering, Handler run, Type type) {
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, run, type);
}

template <bool Subtracts>
std::optional<Op> lower_carry(Lowering& lowering, bool takes_in) {
  lowering.accept_modifiers({"cc"});
  const bool is_wide = bits(lowering.type()) == 64;
  Handler run = nullptr;
  if (takes_in)
    run = is_wide ? with_carry<std::uint64_t, Subtracts, true> : with_carry<std::uint32_t, Subtracts, true>;
  else
    run = is_wide ? with_carry<std::uint64_t, Subtracts, false> : with_carry<std::uint32_t, Subtracts, false>;
  auto op = plain(lowering, run, lowering.type());
  op->aux = lowering.has("cc") ? 1 : 0;
  return op;
}

template <bool Subtracts>
std::optional<Op> lower_sum(Lowering& lowering) {
  const Type type = lowering.type();
  if (!is_integer(type)) return std::nullopt;
  if (lowering.has("cc")) return lower_carry<Subtracts>(lowering, false);
  lowering.accept_modifiers({"sat"});
  if (lowering.has("sat")) {
    if (type != Type::s32) Lowering::unsupported(".sat of this type");
    return plain(
        lowering,
        Subtracts ? Binary<std::int32_t, SubtractSaturate>::run : Binary<std::int32_t, AddSaturate>::run,
        type);
  }
  return plain(lowering, Subtracts ? handler_for<Binary, Subtract>(type) : handler_for<Binary, Add>(type),
               type);
}

template <bool Subtracts>
std::optional<Op> lower_sum_with_carry(Lowering& lowering) {
  return lower_carry<Subtracts>(lowering, true);
}

Op lower_wide(Lowering& lowering, Handler run, bool adds) {
  const Type type = lowering.type();
  if (run == nullptr) Lowering::unsupported(".wide of this type");
  lowering.classify(InstructionClass::integer);
  Op op{.run = run,
        .d = lowering.destination(lowering.operand(0), doubled(type)),
        .a = lowering.source(lowering.operand(1), type),
        .b = lowering.source(lowering.operand(2), type)};
  if (adds) op.c = lowering.source(lowering.operand(3), doubled(type));
  return op;
}

std::optional<Op> lower_mul(Lowering& lowering) {
  const Type type = lowering.type();
  if (!is_integer(type)) return std::nullopt;
  lowering.accept_modifiers({"lo", "hi", "wide"});
  if (lowering.has("wide")) return lower_wide(lowering, widening<MultiplyWide>(type), false);
  return plain(
      lowering,
      lowering.has("hi") ? handler_for<Binary, MultiplyHigh>(type) : handler_for<Binary, MultiplyLow>(type),
      type);
}

std::optional<Op> lower_mad_carry(Lowering& lowering, bool takes_in) {
  lowering.accept_modifiers({"lo", "hi", "cc"});
  const Type type = lowering.type();
  if (type != Type::u32 && type != Type::u64 &&
      (lowering.has("hi") || (type != Type::s32 && type != Type::s64)))
    Lowering::unsupported("a carry of this type");
  const bool is_wide = bits(type) == 64;
  const Handler run =
      lowering.has("hi")
          ? (is_wide ? multiply_add_carry<std::uint64_t, true> : multiply_add_carry<std::uint32_t, true>)
          : (is_wide ? multiply_add_carry<std::uint64_t, false> : multiply_add_carry<std::uint32_t, false>);
  auto op = plain(lowering, run, type);
  op->aux = (lowering.has("cc") ? 1u : 0u) | (takes_in ? 2u : 0u);
  return op;
}
std::optional<Op> lower_madc(Lowering& lowering) { return lower_mad_carry(lowering, true); }

std::optional<Op> lower_mad(Lowering& lowering) {
  const Type type = lowering.type();
  if (!is_integer(type)) return std::nullopt;
  if (lowering.has("cc")) return lower_mad_carry(lowering, false);
  lowering.accept_modifiers({"lo", "hi", "wide", "sat"});
  if (lowering.has("wide")) return lower_wide(lowering, widening<MultiplyAddWide>(type), true);
  if (lowering.has("sat")) {
    if (type != Type::s32 || !lowering.has("hi")) Lowering::unsupported(".sat of this form");
    return plain(lowering, Ternary<std::int32_t, MultiplyAddHighSaturate>::run, type);
  }
  return plain(lowering,
               lowering.has("hi") ? handler_for<Ternary, MultiplyAddHigh>(type)
                                  : handler_for<Ternary, MultiplyAddLow>(type),
               type);
}

template <class F>
std::optional<Op> lower_binary(Lowering& lowering) {
  if (!is_integer(lowering.type())) return std::nullopt;
  lowering.accept_modifiers({});
  return plain(lowering, handler_for<Binary, F>(lowering.type()), lowering.type());
}
template <class F>
std::optional<Op> lower_unary(Lowering& lowering) {
  const Type type = lowering.type();
  if (!is_integer(type)) return std::nullopt;
  lowering.accept_modifiers({});
  return plain(lowering, handler_for<Unary, F>(type), type);
}
std::optional<Op> lower_sad(Lowering& lowering) {
  lowering.accept_modifiers({});
  return plain(lowering, handler_for<Ternary, SumAbsoluteDifference>(lowering.type()), lowering.type());
}

/// Two 16-bit halves at a time.
template <class T, class F>
struct Halves {
  static void run(Warp& warp, const Op& op) {
    map_lanes<std::uint32_t, std::uint32_t, std::uint32_t>(
        warp, op.d,
        [](std::uint32_t a, std::uint32_t b) {
          const auto low = static_cast<Unsigned<T>>(F{}(static_cast<T>(a), static_cast<T>(b)));
          const auto high = static_cast<Unsigned<T>>(F{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
          return std::uint32_t{low} | std::uint32_t{high} << 16;
        },
        op.a, op.b);
  }
};

template <class F, class Relu>
std::optional<Op> lower_extreme(Lowering& lowering) {
  const Type type = lowering.type();
  const bool halves = type == Type::u16x2 || type == Type::s16x2;
  if (!is_integer(type) && !halves) return std::nullopt;
  if (lowering.operand_count() != 3) Lowering::unsupported("three inputs of integers");
  lowering.accept_modifiers({"relu"});
  if (lowering.has("relu")) {
    if (type == Type::s16x2) return plain(lowering, Halves<std::int16_t, Relu>::run, Type::b32);
    if (type != Type::s32) Lowering::unsupported(".relu of this type");
    return plain(lowering, Binary<std::int32_t, Relu>::run, type);
  }
  if (halves)
    return plain(lowering, type == Type::u16x2 ? Halves<std::uint16_t, F>::run : Halves<std::int16_t, F>::run,
                 Type::b32);
  return plain(lowering, handler_for<Binary, F>(type), type);
}

template <bool Subtracts>
std::optional<Op> lower_halves_sum(Lowering& lowering) {
  if (lowering.type() != Type::u16x2 && lowering.type() != Type::s16x2) return std::nullopt;
  lowering.accept_modifiers({});
  return plain(lowering, Subtracts ? Halves<std::uint16_t, Subtract>::run : Halves<std::uint16_t, Add>::run,
               Type::b32);
}

// ---- 24-bit products: the sources' low 24 bits

template <bool Signed>
std::int64_t product24(std::uint32_t a, std::uint32_t b) {
  if constexpr (Signed) {
    return std::int64_t{static_cast<std::int32_t>(a << 8) >> 8} * (static_cast<std::int32_t>(b << 8) >> 8);
  } else {
    return static_cast<std::int64_t>(std::uint64_t{a & 0xFFFFFF} * (b & 0xFFFFFF));
  }
}
template <bool Signed, bool High, bool Adds>
void multiply24(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t product = static_cast<std::uint32_t>(product24<Signed>(a, b) >> (High ? 16 : 0));
        return Adds ? product + c : product;
      },
      op.a, op.b, op.c);
}
void multiply24_saturate(Warp& warp, const Op& op) {
  map_lanes<std::int32_t, std::uint32_t, std::uint32_t, std::int32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b, std::int32_t c) {
        const auto product = static_cast<std::int32_t>(product24<true>(a, b) >> 16);
        return saturate(std::int64_t{product} + c);
      },
      op.a, op.b, op.c);
}
template <bool Adds>
std::optional<Op> lower_24(Lowering& lowering) {
  lowering.accept_modifiers({"lo", "hi", Adds ? "sat" : "hi"});
  if (lowering.has("sat")) {
    if (lowering.type() != Type::s32 || !lowering.has("hi")) Lowering::unsupported(".sat of this form");
    return plain(lowering, multiply24_saturate, Type::s32);
  }
  const bool is_signed_type = lowering.type() == Type::s32, high = lowering.has("hi");
  const Handler run = is_signed_type
                          ? (high ? multiply24<true, true, Adds> : multiply24<true, false, Adds>)
                          : (high ? multiply24<false, true, Adds> : multiply24<false, false, Adds>);
  auto op = plain(lowering, run, lowering.type());
  if (!Adds) op->c = op->b;
  return op;
}

// ---- dot products of bytes (dp4a) and of halves with bytes (dp2a)

template <bool SignedA, bool SignedB>
std::int32_t byte_product(std::uint32_t a, std::uint32_t b) {
  const std::int32_t x = SignedA ? static_cast<std::int8_t>(a) : static_cast<std::int32_t>(a & 0xFF);
  const std::int32_t y = SignedB ? static_cast<std::int8_t>(b) : static_cast<std::int32_t>(b & 0xFF);
  return x * y;
}
template <bool SignedA, bool SignedB>
void dp4a(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        for (int i = 0; i < 32; i += 8)
          c += static_cast<std::uint32_t>(byte_product<SignedA, SignedB>(a >> i, b >> i));
        return c;
      },
      op.a, op.b, op.c);
}
template <bool SignedA, bool SignedB, bool High>
void dp2a(Warp& warp, const Op& op) {
  map_lanes<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op.d,
      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        for (int i = 0; i < 2; ++i) {
          const std::uint32_t half = a >> 16 * i, byte = b >> ((High ? 16 : 0) + 8 * i);
          const std::int32_t x =
              SignedA ? static_cast<std::int16_t>(half) : static_cast<std::int32_t>(half & 0xFFFF);
          const std::int32_t y =
              SignedB ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte & 0xFF);
          c += static_cast<std::uint32_t>(x * y);
        }
        return c;
      },
      op.a, op.b, op.c);
}

template <bool FourBytes>
std::optional<Op> lower_dot(Lowering& lowering) {
  lowering.accept_modifiers({"lo", "hi"});
  const bool a = lowering.type(1) == Type::s32, b = lowering.type(0) == Type::s32, high = lowering.has("hi");
  Handler run = nullptr;
  if constexpr (FourBytes) {
    run = a ? (b ? dp4a<true, true> : dp4a<true, false>) : (b ? dp4a<false, true> : dp4a<false, false>);
  } else {
    run = a ? (b ? (high ? dp2a<true, true, true> : dp2a<true, true, false>)
                 : (high ? dp2a<true, false, true> : dp2a<true, false, false>))
            : (b ? (high ? dp2a<false, true, true> : dp2a<false, true, false>)
                 : (high ? dp2a<false, false, true> : dp2a<false, false, false>));
  }
  return plain(lowering, run, Type::b32);
}

}  // namespace

Op lower_plain(Lowering& lowering, Handler run, Type type) {
  Op op{.run = run, .d = lowering.destination(lowering.operand(0), type)};
  Slot* const sources[] = {&op.a, &op.b, &op.c};
  if (lowering.operand_count() > 4) Lowering::unsupported("this many operands");
  for (std::size_t i = 1; i < lowering.operand_count(); ++i)
    *sources[i - 1] = lowering.source(lowering.operand(i), type);
  return op;
}

std::span<const Mnemonic> integer_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"add", lower_sum<false>},
      {"add", lower_halves_sum<false>},
      {"sub", lower_sum<true>},
      {"sub", lower_halves_sum<true>},
      {"addc", lower_sum_with_carry<false>},
      {"subc", lower_sum_with_carry<true>},
      {"mul", lower_mul},
      {"mad", lower_mad},
      {"madc", lower_madc},
      {"mul24", lower_24<false>},
      {"mad24", lower_24<true>},
      {"div", lower_binary<Divide>},
      {"rem", lower_binary<Remainder>},
      {"abs", lower_unary<Absolute>},
      {"neg", lower_unary<Negate>},
      {"min", lower_extreme<Least, LeastRelu>},
      {"max", lower_extreme<Greatest, GreatestRelu>},
      {"sad", lower_sad},
      {"dp4a", lower_dot<true>},
      {"dp2a", lower_dot<false>},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
