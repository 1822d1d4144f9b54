// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <functional>

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_access.h"
#include "emulator/numbers/element_operations.h"

namespace ak::emulator {
namespace {

struct Bits128 {
  std::uint64_t low, high;
  bool operator==(const Bits128&) const = default;
};

// What an operation makes of the value in memory: f(old, b, c, whether the memory is shared).

/// An operation of the value in memory and one operand alone.
template <class F>
struct Of {
  template <class T>
  T operator()(T old, T b, T, bool) const {
    return F{}(old, b);
  }
};
struct Exchange {
  template <class T>
  T operator()(T, T b, T, bool) const {
    return b;
  }
};
struct CompareAndSwap {
  template <class T>
  T operator()(T old, T b, T c, bool) const {
    return old == b ? c : old;
  }
};

/// Rounds to nearest even. On global memory subnormal operands and results become zero, on shared memory
/// they do not (PTX ISA 9.0, description of atom).
struct AddFloat {
  float operator()(float old, float b, float, bool shared) const {
    return shared ? canonical(old + b) : FlushedSum{}(old, b);
  }
};

/// The same on both halves of 32 bits.
template <class F>
struct Packed {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b, std::uint32_t, bool shared) const {
    const auto half = [&](int shift) {
      return std::uint32_t{F{}(static_cast<std::uint16_t>(old >> shift),
                               static_cast<std::uint16_t>(b >> shift), std::uint16_t{0}, shared)}
             << shift;
    };
    return half(16) | half(0);
  }
};

/// One element of a lane: the value before.
template <class T, class F>
T update(std::byte* at, T b, T c, bool shared) {
  T old;
  std::memcpy(&old, at, sizeof old);
  const T now = F{}(old, b, c, shared);
  std::memcpy(at, &now, sizeof now);
  return old;
}

/// atom and red: lanes act in ascending order, each on what the one before left.
/// Op: d, b, c; of a vector, slots for the elements of d and then of b.
template <class T, class F, int kLength>
void atomic(Warp& warp, const Op& op) {
  const Slot* const d = kLength == 1 ? &op.d : warp.launch->program.slots.data() + op.more;
  const Slot* const b = kLength == 1 ? &op.b : d + kLength;
  release_before(warp, op);
  Access access;
  resolve(warp, op, {sizeof(T) * kLength, AccessKind::atomic, Purpose::update}, access);
  const Lane<T>* const c_row = source<T>(warp, op.c);
  for_each_lane(access.mask, [&](int lane) {
    std::byte* at = access.at(lane);
    for (int j = 0; j < kLength; ++j, at += sizeof(T)) {
      const T b_value = value_of<T>(source<T>(warp, b[j])[lane]);
      const T old = update<T, F>(at, b_value, value_of<T>(c_row[lane]), (access.shared >> lane & 1u) != 0);
      destination<T>(warp, d[j])[lane] = lane_of<T>(old);
    }
  });
  for_each_lane(access.failed, [&](int lane) {
    for (int j = 0; j < kLength; ++j) destination<T>(warp, d[j])[lane] = Lane<T>{};
  });
  acquire_after(warp, op);
}

struct Entry {
  std::string_view operation;
  Type type;
  std::array<Handler, 4> by_length;  ///< of 1, 2, 4 and 8 elements; null where PTX has none
};

template <class T, class F>
constexpr Entry scalar(std::string_view operation, Type type) {
  return {operation, type, {atomic<T, F, 1>, nullptr, nullptr, nullptr}};
}
template <class T, class F>
constexpr Entry vectors(std::string_view operation, Type type, bool has_scalar) {
  constexpr Handler kEight = sizeof(T) == 2 ? atomic<T, F, 8> : nullptr;
  return {
      operation, type, {has_scalar ? atomic<T, F, 1> : nullptr, atomic<T, F, 2>, atomic<T, F, 4>, kEight}};
}

using Half = std::uint16_t;
using Pair = std::uint32_t;

// PTX ISA 9.0, descriptions of atom and red.
constexpr Entry kEntries[] = {
    scalar<std::uint32_t, Of<std::plus<>>>("add", Type::u32),
    scalar<std::uint32_t, Of<std::plus<>>>("add", Type::s32),
    scalar<std::uint64_t, Of<std::plus<>>>("add", Type::u64),
    scalar<std::uint64_t, Of<std::plus<>>>("add", Type::s64),
    scalar<double, Of<std::plus<>>>("add", Type::f64),
    scalar<std::uint32_t, Of<Least>>("min", Type::u32),
    scalar<std::int32_t, Of<Least>>("min", Type::s32),
    scalar<std::uint64_t, Of<Least>>("min", Type::u64),
    scalar<std::int64_t, Of<Least>>("min", Type::s64),
    scalar<std::uint32_t, Of<Greatest>>("max", Type::u32),
    scalar<std::int32_t, Of<Greatest>>("max", Type::s32),
    scalar<std::uint64_t, Of<Greatest>>("max", Type::u64),
    scalar<std::int64_t, Of<Greatest>>("max", Type::s64),
    scalar<std::uint32_t, Of<CountUp>>("inc", Type::u32),
    scalar<std::uint32_t, Of<CountDown>>("dec", Type::u32),
    scalar<std::uint32_t, Of<std::bit_and<>>>("and", Type::b32),
    scalar<std::uint64_t, Of<std::bit_and<>>>("and", Type::b64),
    scalar<std::uint32_t, Of<std::bit_or<>>>("or", Type::b32),
    scalar<std::uint64_t, Of<std::bit_or<>>>("or", Type::b64),
    scalar<std::uint32_t, Of<std::bit_xor<>>>("xor", Type::b32),
    scalar<std::uint64_t, Of<std::bit_xor<>>>("xor", Type::b64),
    scalar<std::uint32_t, Exchange>("exch", Type::b32),
    scalar<std::uint64_t, Exchange>("exch", Type::b64),
    scalar<Bits128, Exchange>("exch", Type::b128),
    scalar<std::uint16_t, CompareAndSwap>("cas", Type::b16),
    scalar<std::uint32_t, CompareAndSwap>("cas", Type::b32),
    scalar<std::uint64_t, CompareAndSwap>("cas", Type::b64),
    scalar<Bits128, CompareAndSwap>("cas", Type::b128),
    vectors<float, AddFloat>("add", Type::f32, true),
    vectors<Half, Of<HalfSum>>("add", Type::f16, true),
    vectors<Half, Of<BfloatSum>>("add", Type::bf16, true),
    vectors<Pair, Packed<Of<HalfSum>>>("add", Type::f16x2, true),
    vectors<Pair, Packed<Of<BfloatSum>>>("add", Type::bf16x2, true),
    vectors<Half, Of<LeastHalf>>("min", Type::f16, false),
    vectors<Half, Of<LeastBfloat>>("min", Type::bf16, false),
    vectors<Pair, Packed<Of<LeastHalf>>>("min", Type::f16x2, false),
    vectors<Pair, Packed<Of<LeastBfloat>>>("min", Type::bf16x2, false),
    vectors<Half, Of<GreatestHalf>>("max", Type::f16, false),
    vectors<Half, Of<GreatestBfloat>>("max", Type::bf16, false),
    vectors<Pair, Packed<Of<GreatestHalf>>>("max", Type::f16x2, false),
    vectors<Pair, Packed<Of<GreatestBfloat>>>("max", Type::bf16x2, false),
};

Handler find_handler(const Lowering& lowering, Type type, int length) {
  for (const Entry& entry : kEntries) {
    if (entry.type != type || !lowering.has(entry.operation)) continue;
    const auto which = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(length)));
    if (entry.by_length[which] != nullptr) return entry.by_length[which];
  }
  Lowering::unsupported("this operation on this type");
}

void check_modifiers(const Lowering& lowering, Type type, int length) {
  lowering.accept_modifiers({"relaxed", "acquire", "release", "acq_rel", "cta",         "cluster",
                             "gpu",     "sys",     "global",  "shared",  "shared::cta", "shared::cluster",
                             "add",     "min",     "max",     "inc",     "dec",         "and",
                             "or",      "xor",     "exch",    "cas",     "noftz",       "L2::cache_hint",
                             "v2",      "v4",      "v8",      "async",   "mmio"});
  if (lowering.has("async") && (!lowering.has("release") || length > 1 || is_float(type)))
    Lowering::unsupported("an asynchronous reduction of this kind");
  if (lowering.has("mmio") && !lowering.has("async")) Lowering::unsupported("modifier .mmio");
  const bool half = type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
  if (half != lowering.has("noftz")) Lowering::unsupported("this type with or without .noftz");
  if (length > 1 && space_of(lowering, Operand{}) != Space::none && !lowering.has("global"))
    Lowering::unsupported("a vector in shared memory");
}

/// `first` is the operand that is the address; `d` the result, or a sink.
Op lower_update(Lowering& lowering, std::size_t first, const Operand& d) {
  const Type type = only_type(lowering);
  const int length = vector_length(lowering);
  check_modifiers(lowering, type, length);
  const bool has_c = lowering.has("cas");
  expect_operands(lowering, first + (has_c ? 3 : 2));
  Op op;
  op.run = find_handler(lowering, type, length);
  std::vector<Slot> slots =
      length > 1 && d.kind == OperandKind::sink
          ? std::vector<Slot>(static_cast<std::size_t>(length), lowering.destination(d, type))
          : lowering.destinations(d, type);
  const std::vector<Slot> b = lowering.sources(lowering.operand(first + 1), type);
  if (slots.size() != static_cast<std::size_t>(length) || b.size() != slots.size())
    Lowering::unsupported("a vector of another length than the operands");
  op.d = slots.front();
  op.b = b.front();
  op.c = has_c ? lowering.source(lowering.operand(first + 2), type) : op.b;
  if (length > 1) {
    slots.insert(slots.end(), b.begin(), b.end());
    lowering.more(op, slots);
  }
  lower_address(lowering, lowering.operand(first), op);
  lowering.classify(InstructionClass::atomic);
  return op;
}

std::optional<Op> lower_atom(Lowering& lowering) {
  if (lowering.has("async")) Lowering::unsupported("modifier .async");
  return lower_update(lowering, 1, lowering.operand(0));
}

std::optional<Op> lower_red(Lowering& lowering) {
  if (lowering.has("async") && !lowering.has("global")) return std::nullopt;  // async_update_ops.cpp
  if (lowering.has("exch") || lowering.has("cas")) Lowering::unsupported("a reduction of this kind");
  return lower_update(lowering, 0, Operand{});
}

}  // namespace

std::span<const Mnemonic> atomic_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"atom", lower_atom}, {"red", lower_red, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator
