// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "emulator/check/undefined_values.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_access.h"
#include "emulator/ops/address_ops.h"

namespace ak::emulator {
namespace {

struct Bits128 {
  std::uint64_t low, high;
};

/// A value M of memory in a lane of a register R: sign-extended to the register when M is signed, and from
/// there on with zeros, as lanes are kept.
template <class M, class R>
Lane<R> extend(M value) {
  if constexpr (sizeof(M) == 16)
    return value;
  else
    return lane_of<R>(static_cast<R>(value));
}

template <class L>
void blend(L* to, const L* values, std::uint32_t mask) {
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) to[i] = (mask >> i & 1u) != 0 ? values[i] : to[i];
}

template <class L>
void fill(L* to, L value, std::uint32_t mask) {
  if (mask == kAllLanes) {
    for (int i = 0; i < kLanes; ++i) to[i] = value;
    return;
  }
  for_each_lane(mask, [&](int i) { to[i] = value; });
}

/// Op: d, or slots for each element of a vector.
template <class R, int kLength>
std::array<Lane<R>*, kLength> destinations_of(Warp& warp, const Op& op) {
  std::array<Lane<R>*, kLength> rows;
  const Slot* slots = kLength == 1 ? &op.d : warp.launch->program.slots.data() + op.more;
  for (std::size_t j = 0; j < kLength; ++j) rows[j] = destination<R>(warp, slots[j]);
  return rows;
}

template <class M, class R, int kLength>
void load_consecutive(const std::byte* base, std::array<Lane<R>*, kLength> rows) {
  const M* const from = reinterpret_cast<const M*>(base);
  if constexpr (kLength == 1) {
    Lane<R>* const to = rows[0];
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) to[i] = extend<M, R>(from[i]);
  } else {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) {
      for (int j = 0; j < kLength; ++j)
        rows[static_cast<std::size_t>(j)][i] = extend<M, R>(from[i * kLength + j]);
    }
  }
}

template <class M, class R, int kLength>
void load_uniform(const std::byte* base, const std::array<Lane<R>*, kLength>& rows, std::uint32_t mask) {
  M values[kLength];
  std::memcpy(values, base, sizeof values);
  for (std::size_t j = 0; j < kLength; ++j) fill(rows[j], extend<M, R>(values[j]), mask);
}

template <class M, class R, int kLength>
void load_scattered(const Access& access, const std::array<Lane<R>*, kLength>& rows) {
  alignas(64) Lane<R> lanes[kLength][kLanes];
  for (int i = 0; i < kLanes; ++i) {
    M values[kLength];
    std::memcpy(values, access.pointers[i], sizeof values);
    for (int j = 0; j < kLength; ++j) lanes[j][i] = extend<M, R>(values[j]);
  }
  for (std::size_t j = 0; j < kLength; ++j) blend(rows[j], lanes[j], access.mask);
}

AccessKind kind_of(const Op& op, AccessKind weak) {
  return (op.aux & kStrong) != 0 ? AccessKind::atomic : weak;
}

template <class M, class R, int kLength>
void load(Warp& warp, const Op& op) {
  Access access;
  const AccessKind weak = (op.aux & kNonCoherent) != 0 ? AccessKind::non_coherent_read : AccessKind::read;
  resolve(warp, op, {sizeof(M) * kLength, kind_of(op, weak), Purpose::load}, access);
  const auto rows = destinations_of<R, kLength>(warp, op);
  switch (access.pattern) {
    case Pattern::consecutive:
      load_consecutive<M, R, kLength>(access.base, rows);
      break;
    case Pattern::uniform:
      load_uniform<M, R, kLength>(access.base, rows, access.mask);
      break;
    case Pattern::scattered:
      load_scattered<M, R, kLength>(access, rows);
      break;
    case Pattern::none:
      break;
  }
  if (warp.undefined != nullptr) [[unlikely]] {
    const Slot* slots = kLength == 1 ? &op.d : warp.launch->program.slots.data() + op.more;
    warp.undefined->end_load({slots, kLength}, sizeof(M), sizeof(R), std::is_signed_v<M>);
  }
  if (access.failed != 0) [[unlikely]] {
    for (Lane<R>* row : rows) fill(row, Lane<R>{}, access.failed);
  }
  acquire_after(warp, op);
}

/// Tells the checker which bytes of a store no one wrote.
template <class M, class R, int kLength>
void store_undefined(Warp& warp, const Op& op, const Access& access) {
  const Slot* slots = kLength == 1 ? &op.b : warp.launch->program.slots.data() + op.more;
  for_each_lane(access.mask, [&](int lane) {
    std::array<std::uint8_t, sizeof(M) * kLength> origins{};
    for (std::size_t j = 0; j < kLength; ++j) {
      if ((slots[j] & kConstantSlot) == 0)
        std::copy_n(warp.undefined->at(slots[j], lane, sizeof(R)), sizeof(M),
                    origins.begin() + j * sizeof(M));
    }
    warp.launch->checker->undefined_stored(warp, op, lane, access.at(lane), origins);
  });
}

/// The low end of a lane: M is unsigned.
template <class M, class L>
M cut(L lane) {
  if constexpr (sizeof(M) == 16)
    return lane;
  else
    return static_cast<M>(lane);
}

/// Lanes whose values are what memory already holds.
template <class Value>
std::uint32_t unchanged(const Access& access, Value value) {
  std::uint32_t lanes = 0;
  for_each_lane(access.mask, [&](int lane) {
    const auto stored = value(lane);
    lanes |= static_cast<std::uint32_t>(std::memcmp(access.at(lane), &stored, sizeof stored) == 0) << lane;
  });
  return lanes;
}

/// Whether each of 32 places lies beyond the one before: then no two lanes meet.
bool ascends(const Access& access) {
  bool all = true;
  for (int i = 1; i < kLanes; ++i) all &= access.pointers[i - 1] < access.pointers[i];
  return all;
}

/// Two lanes that store different values to one place: what stays there is not defined (CUDA C++ Programming
/// Guide, "SIMT Architecture").
template <class Value>
void find_stores_to_one_place(Warp& warp, const Op& op, const Access& access, Value value) {
  using Stored = decltype(value(0));
  constexpr std::uint32_t kBuckets = 64;
  std::int8_t first[kBuckets];
  std::memset(first, -1, sizeof first);
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::uint64_t at = reinterpret_cast<std::uintptr_t>(access.at(lane)) / sizeof(Stored);
    for (;; ++at) {
      std::int8_t& other = first[at % kBuckets];
      if (other < 0) other = static_cast<std::int8_t>(lane);
      if (access.at(other) != access.at(lane)) continue;
      const Stored mine = value(lane), earlier = value(other);
      if (std::memcmp(&mine, &earlier, sizeof mine) != 0)
        return warp.launch->checker->stored_twice(warp, op, access.at(lane), sizeof mine, other, lane);
      break;
    }
  }
}

template <class Value>
void check_stores(Warp& warp, const Op& op, const Access& access, Value value) {
  Checker& checker = *warp.launch->checker;
  if (checker.has_unsettled_stores()) [[unlikely]]
    checker.settle_stores(unchanged(access, value));
  const bool together = access.pattern != Pattern::none && access.pattern != Pattern::consecutive &&
                        std::popcount(access.mask) > 1 && (op.aux & kStrong) == 0;
  if (together && !(access.pattern == Pattern::scattered && access.mask == kAllLanes && ascends(access)))
    find_stores_to_one_place(warp, op, access, value);
}

template <class M, class R, int kLength>
void store(Warp& warp, const Op& op) {
  std::array<const Lane<R>*, kLength> rows;
  const Slot* slots = kLength == 1 ? &op.b : warp.launch->program.slots.data() + op.more;
  for (std::size_t j = 0; j < kLength; ++j) rows[j] = source<R>(warp, slots[j]);
  release_before(warp, op);
  Access access;
  resolve(warp, op, {sizeof(M) * kLength, kind_of(op, AccessKind::write), Purpose::store}, access);
  if (warp.launch->checker != nullptr) {
    check_stores(warp, op, access, [&](int lane) {
      std::array<M, kLength> values;
      for (std::size_t j = 0; j < kLength; ++j) values[j] = cut<M>(rows[j][lane]);
      return values;
    });
  }
  if (access.pattern == Pattern::consecutive) {
    M* const to = reinterpret_cast<M*>(access.base);
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) {
      for (int j = 0; j < kLength; ++j) to[i * kLength + j] = cut<M>(rows[static_cast<std::size_t>(j)][i]);
    }
  } else if (access.pattern != Pattern::none) {
    for_each_lane(access.mask, [&](int i) {
      M values[kLength];
      for (std::size_t j = 0; j < kLength; ++j) values[j] = cut<M>(rows[j][i]);
      std::memcpy(access.at(i), values, sizeof values);
    });
  }
  if (warp.undefined != nullptr && access.pattern != Pattern::none) [[unlikely]]
    store_undefined<M, R, kLength>(warp, op, access);
}

// Vectors have up to 32 bytes; eight elements only of 4 bytes (PTX ISA 9.0, description of ld).
template <template <class, class, int> class Instruction, class M, class R>
Handler of_length(int length) {
  if (length == 1) return Instruction<M, R, 1>::run;
  if constexpr (sizeof(M) <= 8) {
    if (length == 2) return Instruction<M, R, 2>::run;
    if (length == 4) return Instruction<M, R, 4>::run;
  }
  if constexpr (sizeof(M) == 4) {
    if (length == 8) return Instruction<M, R, 8>::run;
  }
  return nullptr;
}
template <class M, class R, int kLength>
struct Load {
  static constexpr Handler run = load<M, R, kLength>;
};
template <class M, class R, int kLength>
struct Store {
  static constexpr Handler run = store<M, R, kLength>;
};

struct Entry {
  int type_bits;
  bool sign_extends;
  int register_bits;
  Handler (*handler)(int length);
};

// Zero-extension within 4 bytes is one and the same.
constexpr Entry kLoads[] = {
    {8, false, 32, of_length<Load, std::uint8_t, std::uint32_t>},
    {16, false, 32, of_length<Load, std::uint16_t, std::uint32_t>},
    {32, false, 32, of_length<Load, std::uint32_t, std::uint32_t>},
    {8, true, 16, of_length<Load, std::int8_t, std::uint16_t>},
    {8, true, 32, of_length<Load, std::int8_t, std::uint32_t>},
    {16, true, 32, of_length<Load, std::int16_t, std::uint32_t>},
    {8, false, 64, of_length<Load, std::uint8_t, std::uint64_t>},
    {16, false, 64, of_length<Load, std::uint16_t, std::uint64_t>},
    {32, false, 64, of_length<Load, std::uint32_t, std::uint64_t>},
    {64, false, 64, of_length<Load, std::uint64_t, std::uint64_t>},
    {8, true, 64, of_length<Load, std::int8_t, std::uint64_t>},
    {16, true, 64, of_length<Load, std::int16_t, std::uint64_t>},
    {32, true, 64, of_length<Load, std::int32_t, std::uint64_t>},
    {128, false, 128, of_length<Load, Bits128, Bits128>},
};

constexpr Entry kStores[] = {
    {8, false, 32, of_length<Store, std::uint8_t, std::uint32_t>},
    {16, false, 32, of_length<Store, std::uint16_t, std::uint32_t>},
    {32, false, 32, of_length<Store, std::uint32_t, std::uint32_t>},
    {8, false, 64, of_length<Store, std::uint8_t, std::uint64_t>},
    {16, false, 64, of_length<Store, std::uint16_t, std::uint64_t>},
    {32, false, 64, of_length<Store, std::uint32_t, std::uint64_t>},
    {64, false, 64, of_length<Store, std::uint64_t, std::uint64_t>},
    {128, false, 128, of_length<Store, Bits128, Bits128>},
};

Handler find(std::span<const Entry> entries, Type type, bool sign_extends, int register_bits, int length) {
  if (!sign_extends) register_bits = std::max(register_bits, 32);
  for (const Entry& entry : entries) {
    if (entry.type_bits != bits(type) || entry.sign_extends != sign_extends ||
        entry.register_bits != register_bits)
      continue;
    if (const Handler handler = entry.handler(length)) return handler;
  }
  Lowering::unsupported("a vector of this length and type");
}

/// ld and st have the types of one value each (PTX ISA 9.0, description of ld).
Type value_type(const Lowering& lowering) {
  static constexpr Type kTypes[] = {Type::b8,  Type::b16, Type::b32, Type::b64, Type::b128,
                                    Type::u8,  Type::u16, Type::u32, Type::u64, Type::s8,
                                    Type::s16, Type::s32, Type::s64, Type::f32, Type::f64};
  const Type type = only_type(lowering);
  if (std::ranges::find(kTypes, type) == std::end(kTypes))
    Lowering::unsupported("type " + std::string(to_string(type)));
  return type;
}

/// Width of the registers that hold the elements; at least the type's.
int common_bits(const Lowering& lowering, std::span<const Operand> elements, Type type) {
  int widest = 0;
  for (const Operand& element : elements) {
    if (element.kind == OperandKind::reg) widest = std::max(widest, lowering.register_bits(element, type));
  }
  if (widest == 0) widest = bits(type);
  if (widest < bits(type) || (widest != bits(type) && is_float(type)))
    Lowering::unsupported("registers of this width");
  return widest;
}

/// A type of the same storage as registers of that width.
Type storage_type(Type type, int register_bits) {
  if (register_bits == bits(type)) return type;
  return register_bits == 64 ? Type::b64 : register_bits == 128 ? Type::b128 : Type::b32;
}

std::span<const Operand> elements_of(const Operand& operand, int length) {
  const bool list = operand.kind == OperandKind::list;
  const std::span<const Operand> elements(list ? operand.elements.data() : &operand,
                                          list ? operand.elements.size() : 1);
  if (elements.size() != static_cast<std::size_t>(length))
    Lowering::unsupported("a vector of another length than the operand");
  return elements;
}

/// Puts the slots of the elements where a handler of that length expects them.
void set_slots(Lowering& lowering, Op& op, Slot Op::*single, const std::vector<Slot>& slots) {
  if (slots.size() == 1)
    op.*single = slots.front();
  else
    lowering.more(op, slots);
}

void accept_access_modifiers(const Lowering& lowering) {
  lowering.accept_modifiers({"const",
                             "global",
                             "local",
                             "param",
                             "param::entry",
                             "param::func",
                             "shared",
                             "shared::cta",
                             "shared::cluster",
                             "weak",
                             "async",
                             "volatile",
                             "relaxed",
                             "acquire",
                             "release",
                             "mmio",
                             "cta",
                             "cluster",
                             "gpu",
                             "sys",
                             "ca",
                             "cg",
                             "cs",
                             "lu",
                             "cv",
                             "wb",
                             "wt",
                             "nc",
                             "L1::evict_normal",
                             "L1::evict_unchanged",
                             "L1::evict_first",
                             "L1::evict_last",
                             "L1::no_allocate",
                             "L2::evict_normal",
                             "L2::evict_first",
                             "L2::evict_last",
                             "L2::cache_hint",
                             "L2::64B",
                             "L2::128B",
                             "L2::256B",
                             "v2",
                             "v4",
                             "v8"});
}

InstructionClass class_of_access(std::uint32_t aux, bool loads) {
  switch (static_cast<Space>(aux & kSpaceMask)) {
    case Space::global:
      return loads ? InstructionClass::global_load : InstructionClass::global_store;
    case Space::local:
      return loads ? InstructionClass::local_load : InstructionClass::local_store;
    case Space::shared:
    case Space::shared_cluster:
      return loads ? InstructionClass::shared_load : InstructionClass::shared_store;
    case Space::none:
      return loads ? InstructionClass::generic_load : InstructionClass::generic_store;
    default:
      return InstructionClass::constant_load;
  }
}

std::optional<Op> lower_load(Lowering& lowering) {
  accept_access_modifiers(lowering);
  if (lowering.has("release")) Lowering::unsupported("a load that releases");
  if (lowering.has("async")) Lowering::unsupported("an asynchronous load");
  expect_operands(lowering, 2);
  const Type type = value_type(lowering);
  const auto elements = elements_of(lowering.operand(0), vector_length(lowering));
  const int width = common_bits(lowering, elements, type);
  Op op;
  op.run = find(kLoads, type, is_signed(type) && width > bits(type), width, vector_length(lowering));
  std::vector<Slot> slots;
  for (const Operand& element : elements)
    slots.push_back(lowering.destination(element, storage_type(type, width)));
  set_slots(lowering, op, &Op::d, slots);
  lower_address(lowering, lowering.operand(1), op);
  if (lowering.has("nc")) op.aux |= kNonCoherent;
  lowering.classify(class_of_access(op.aux, true));
  return op;
}

std::optional<Op> lower_store(Lowering& lowering) {
  const bool later = lowering.has("async");
  if (later && !lowering.has("global")) return std::nullopt;  // async_update_ops.cpp
  accept_access_modifiers(lowering);
  if (lowering.has("nc") || lowering.has("acquire")) Lowering::unsupported("a store of this kind");
  expect_operands(lowering, 2);
  const Type type = value_type(lowering);
  if (later &&
      (!lowering.has("release") || vector_length(lowering) > 1 || bits(type) < 16 || bits(type) > 64))
    Lowering::unsupported("an asynchronous store of this kind");
  const auto elements = elements_of(lowering.operand(1), vector_length(lowering));
  const int width = common_bits(lowering, elements, type);
  Op op;
  op.run = find(kStores, type, false, width, vector_length(lowering));
  std::vector<Slot> slots;
  for (const Operand& element : elements)
    slots.push_back(lowering.source(element, storage_type(type, width)));
  set_slots(lowering, op, &Op::b, slots);
  lower_address(lowering, lowering.operand(0), op);
  const auto space = static_cast<Space>(op.aux & kSpaceMask);
  if (space == Space::param || space == Space::constant) Lowering::unsupported("a store to read-only memory");
  lowering.classify(class_of_access(op.aux, false));
  return op;
}

}  // namespace

std::span<const Mnemonic> memory_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"ld", lower_load},
      {"ldu", lower_load},
      {"st", lower_store, 0},
      {"cvta", lower_cvta},
      {"isspacep", lower_isspacep},
      {"mapa", lower_mapa},
      {"getctarank", lower_getctarank},
      {"createpolicy", lower_createpolicy},
      {"prefetch", lower_cache_control, 0},
      {"prefetchu", lower_cache_control, 0},
      {"applypriority", lower_cache_control, 0},
      {"fence", lower_fence, 0},
      {"membar", lower_fence, 0},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
