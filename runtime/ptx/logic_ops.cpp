// SPDX-License-Identifier: Apache-2.0
// Moves, bitwise logic on registers and predicates, and selection.
#include <algorithm>
#include <cstring>

#include "runtime/ptx/integer_types.h"

namespace ak::ptx {
namespace {

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};

template <class F>
void combine_predicates(Warp& warp, const Op& op) {
  set_predicate(warp, op.d, F{}(predicate(warp, op.a), predicate(warp, op.b)));
}
void complement_predicate(Warp& warp, const Op& op) { set_predicate(warp, op.d, ~predicate(warp, op.a)); }
void move_predicate(Warp& warp, const Op& op) { set_predicate(warp, op.d, predicate(warp, op.a)); }

template <class F>
std::optional<Op> lower_logic(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  if (type == Type::pred) {
    lowering.classify(InstructionClass::predicate);
    return Op{.run = combine_predicates<F>,
              .d = lowering.predicate_destination(lowering.operand(0)),
              .a = lowering.predicate(lowering.operand(1)),
              .b = lowering.predicate(lowering.operand(2))};
  }
  const Handler run = handler_for<Binary, F>(type);
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, run, type);
}

template <class F>
std::optional<Op> lower_not(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  if (type == Type::pred) {
    lowering.classify(InstructionClass::predicate);
    return Op{.run = complement_predicate,
              .d = lowering.predicate_destination(lowering.operand(0)),
              .a = lowering.predicate(lowering.operand(1))};
  }
  const Handler run = handler_for<Unary, F>(type);
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::integer);
  return lower_plain(lowering, run, type);
}

// ---- mov

/// 128 bits a lane.
struct Quad {
  std::uint64_t low, high;
};

template <class L>
void move(Warp& warp, const Op& op) {
  const L* from = source<L>(warp, op.a);
  L* to = destination<L>(warp, op.d);
  if (warp.mask == kAllLanes) {
    std::memmove(to, from, kLanes * sizeof(L));
  } else {
    for_each_lane(warp.mask, [&](int lane) { to[lane] = from[lane]; });
  }
}

/// Bytes of one element of a packed value, at byte `offset` of it.
struct Piece {
  Slot slot;
  std::uint32_t bytes, offset;
};

// mov.b64 d, {a, b} and mov.b64 {a, b}, s: op.a is the whole, Program::slots has slot, bytes and offset of
// every element. Slots of elements hold values of 8 and 16 bits zero-extended in 4 bytes.
template <class Whole, bool Packs>
void repack(Warp& warp, const Op& op) {
  const Slot* words = warp.launch->program.slots.data() + op.more;
  for_each_lane(warp.mask, [&](int lane) {
    Whole whole{};
    if constexpr (!Packs) whole = source<Whole>(warp, op.a)[lane];
    for (std::uint32_t i = 0; i + 2 < op.more_count; i += 3) {
      const Piece piece{words[i], words[i + 1], words[i + 2]};
      const std::size_t lane_bytes = piece.bytes == 8 ? 8 : 4;
      const std::size_t size = std::min<std::size_t>(piece.bytes, sizeof(Whole));
      if constexpr (Packs) {
        const auto* from = reinterpret_cast<const std::byte*>(
            lane_bytes == 8 ? static_cast<const void*>(source<std::uint64_t>(warp, piece.slot) + lane)
                            : source<std::uint32_t>(warp, piece.slot) + lane);
        std::memcpy(reinterpret_cast<std::byte*>(&whole) + piece.offset, from, size);
      } else {
        std::uint64_t value = 0;
        std::memcpy(&value, reinterpret_cast<const std::byte*>(&whole) + piece.offset, size);
        std::memcpy(warp.registers + piece.slot + static_cast<std::size_t>(lane) * lane_bytes, &value,
                    lane_bytes);
      }
    }
    if constexpr (Packs) destination<Whole>(warp, op.d)[lane] = whole;
  });
}

Type element_type(Type whole, std::size_t elements) {
  switch (static_cast<std::size_t>(bits(whole)) / elements) {
    case 8:
      return Type::b8;
    case 16:
      return Type::b16;
    case 32:
      return Type::b32;
    case 64:
      return Type::b64;
    default:
      Lowering::unsupported("a vector of this length");
  }
}

template <bool Packs>
Handler repack_handler(Type whole) {
  if (bits(whole) == 128) return repack<Quad, Packs>;
  if (bits(whole) == 64) return repack<std::uint64_t, Packs>;
  if (bits(whole) == 32) return repack<std::uint32_t, Packs>;
  return repack<std::uint32_t, Packs>;  // 16 bits, kept in 4 bytes
}

Op lower_repack(Lowering& lowering, Type whole, bool packs) {
  const Operand& list = lowering.operand(packs ? 1 : 0);
  const Type element = element_type(whole, list.elements.size());
  Op op{.run = packs ? repack_handler<true>(whole) : repack_handler<false>(whole)};
  if (packs)
    op.d = lowering.destination(lowering.operand(0), whole);
  else
    op.a = lowering.source(lowering.operand(1), whole);
  std::vector<Slot> words;
  for (std::size_t i = 0; i < list.elements.size(); ++i) {
    words.push_back(packs ? lowering.source(list.elements[i], element)
                          : lowering.destination(list.elements[i], element));
    words.push_back(static_cast<Slot>(bytes(element)));
    words.push_back(static_cast<Slot>(i) * static_cast<Slot>(bytes(element)));
  }
  lowering.more(op, words);
  return op;
}

bool is_clock(const Operand& operand) {
  return operand.kind == OperandKind::special &&
         (operand.name.starts_with("%clock") || operand.name.starts_with("%globaltimer"));
}

std::optional<Op> lower_mov(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  if (is_clock(lowering.operand(1))) return std::nullopt;
  lowering.classify(InstructionClass::move);
  if (type == Type::pred)
    return Op{.run = move_predicate,
              .d = lowering.predicate_destination(lowering.operand(0)),
              .a = lowering.predicate(lowering.operand(1))};
  if (lowering.operand(1).kind == OperandKind::list) return lower_repack(lowering, type, true);
  if (lowering.operand(0).kind == OperandKind::list) return lower_repack(lowering, type, false);
  const Handler run = bits(type) == 128  ? move<Quad>
                      : bits(type) == 64 ? move<std::uint64_t>
                                         : move<std::uint32_t>;
  return lower_plain(lowering, run, type);
}

// ---- selp, slct

template <class T>
void select(Warp& warp, const Op& op) {
  const std::uint32_t which = predicate(warp, op.c);
  const T* a = source<T>(warp, op.a);
  const T* b = source<T>(warp, op.b);
  alignas(64) T values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = (which >> i & 1u) != 0 ? a[i] : b[i];
  write_lanes(warp, destination<T>(warp, op.d), values);
}
std::optional<Op> lower_selp(Lowering& lowering) {
  lowering.accept_modifiers({});
  const Type type = lowering.type();
  lowering.classify(InstructionClass::predicate);
  return Op{.run = bits(type) == 64 ? select<std::uint64_t> : select<std::uint32_t>,
            .d = lowering.destination(lowering.operand(0), type),
            .a = lowering.source(lowering.operand(1), type),
            .b = lowering.source(lowering.operand(2), type),
            .c = lowering.predicate(lowering.operand(3))};
}

template <class T, class Decider>
void select_by_sign(Warp& warp, const Op& op) {
  map_lanes<T, T, T, Decider>(
      warp, op.d, [](T a, T b, Decider c) { return c >= Decider{0} ? a : b; }, op.a, op.b, op.c);
}
std::optional<Op> lower_slct(Lowering& lowering) {
  lowering.accept_modifiers(
      {"ftz"});  // a subnormal flushed to -0 or kept: both are compared with 0 alike but for its sign
  const Type decider = lowering.type(0), type = lowering.type(1);
  if (lowering.has("ftz")) Lowering::unsupported("slct.ftz");
  const bool by_float = decider == Type::f32, wide = bits(type) == 64;
  lowering.classify(InstructionClass::predicate);
  return Op{.run = by_float
                       ? (wide ? select_by_sign<std::uint64_t, float> : select_by_sign<std::uint32_t, float>)
                       : (wide ? select_by_sign<std::uint64_t, std::int32_t>
                               : select_by_sign<std::uint32_t, std::int32_t>),
            .d = lowering.destination(lowering.operand(0), type),
            .a = lowering.source(lowering.operand(1), type),
            .b = lowering.source(lowering.operand(2), type),
            .c = lowering.source(lowering.operand(3), decider)};
}

constexpr Mnemonic kMnemonics[] = {
    {"mov", lower_mov},        {"and", lower_logic<And>}, {"or", lower_logic<Or>},
    {"xor", lower_logic<Xor>}, {"not", lower_not<Not>},   {"cnot", lower_not<LogicalNot>},
    {"selp", lower_selp},      {"slct", lower_slct},
};

}  // namespace

std::span<const Mnemonic> logic_mnemonics() { return kMnemonics; }

}  // namespace ak::ptx
