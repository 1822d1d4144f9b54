// SPDX-License-Identifier: Apache-2.0
// Moves, bitwise logic on registers and predicates, and selection.
#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/ops/integer_types.h"

namespace ak::emulator {
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

/// 128 bits per lane.
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

// mov.b64 d, {a, b} and mov.b64 {a, b}, s: op.d or op.a is the whole, Program::slots has the elements' slots.

/// Bits of element `i`, counted from the low end.
template <class Part, std::size_t i, class Whole>
Part part_of(Whole whole) {
  if constexpr (sizeof(Whole) == 16)
    return i == 0 ? whole.low : whole.high;
  else
    return static_cast<Part>(whole >> (8 * sizeof(Part) * i));
}

template <class Whole, class... Parts>
Whole whole_of(Parts... parts) {
  if constexpr (sizeof(Whole) == 16) {
    return {parts...};
  } else {
    std::uint64_t whole = 0;
    int shift = 0;
    ((whole |= std::uint64_t{parts} << shift, shift += 8 * static_cast<int>(sizeof(parts))), ...);
    return static_cast<Whole>(whole);
  }
}

template <class Whole, class Part>
struct Repack {
  using Indices = std::make_index_sequence<sizeof(Whole) / sizeof(Part)>;
  template <std::size_t>
  using Each = Part;

  static void pack(Warp& warp, const Op& op) {
    const Slot* slots = warp.launch->program.slots.data() + op.more;
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      map_lanes<Whole, Each<i>...>(warp, op.d, whole_of<Whole, Each<i>...>, slots[i]...);
    }
    (Indices{});
  }
  static void unpack(Warp& warp, const Op& op) {
    const Slot* slots = warp.launch->program.slots.data() + op.more;
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (map_lanes<Part, Whole>(
           warp, slots[i], [](Whole whole) { return part_of<Part, i>(whole); }, op.a),
       ...);
    }
    (Indices{});
  }
};

struct RepackEntry {
  Type whole, part;
  Handler pack, unpack;
};
template <class Whole, class Part>
constexpr RepackEntry repack_entry(Type whole, Type part) {
  return {whole, part, Repack<Whole, Part>::pack, Repack<Whole, Part>::unpack};
}
// PTX ISA 9.0, description of mov.
constexpr RepackEntry kRepacks[] = {
    repack_entry<std::uint16_t, std::uint8_t>(Type::b16, Type::b8),
    repack_entry<std::uint32_t, std::uint8_t>(Type::b32, Type::b8),
    repack_entry<std::uint32_t, std::uint16_t>(Type::b32, Type::b16),
    repack_entry<std::uint64_t, std::uint16_t>(Type::b64, Type::b16),
    repack_entry<std::uint64_t, std::uint32_t>(Type::b64, Type::b32),
    repack_entry<Quad, std::uint64_t>(Type::b128, Type::b64),
};

Op lower_repack(Lowering& lowering, Type whole, bool packs) {
  const Operand& list = lowering.operand(packs ? 1 : 0);
  const auto entry = std::ranges::find_if(kRepacks, [&](const RepackEntry& each) {
    return bits(each.whole) == bits(whole) &&
           bits(each.part) * static_cast<int>(list.elements.size()) == bits(whole);
  });
  if (entry == std::end(kRepacks)) Lowering::unsupported("a vector of this length");
  Op op{.run = packs ? entry->pack : entry->unpack};
  if (packs)
    op.d = lowering.destination(lowering.operand(0), whole);
  else
    op.a = lowering.source(lowering.operand(1), whole);
  std::vector<Slot> slots;
  for (const Operand& element : list.elements) {
    slots.push_back(packs ? lowering.source(element, entry->part)
                          : lowering.destination(element, entry->part));
    // Elements are written one after the other.
    if (!packs && slots.back() == op.a) Lowering::unsupported("an element that is the source itself");
  }
  lowering.more(op, slots);
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
      {"ftz"});  // a subnormal flushed to -0 or kept: both are compared with 0 alike except for its sign
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

}  // namespace

std::span<const Mnemonic> logic_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"mov", lower_mov},        {"and", lower_logic<And>}, {"or", lower_logic<Or>},
      {"xor", lower_logic<Xor>}, {"not", lower_not<Not>},   {"cnot", lower_not<LogicalNot>},
      {"selp", lower_selp},      {"slct", lower_slct},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
