// SPDX-License-Identifier: Apache-2.0
// Stores and reductions that happen later: st.async and red.async to the shared memory of a cluster, and
// cp.reduce.async.bulk, which combines whole ranges. Those to global memory are stores and reductions that release.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/machine/memory_counts.h"
#include "emulator/machine/shared_range.h"
#include "emulator/numbers/element_update.h"
#include "emulator/ops/copy_engine.h"
#include "emulator/ops/copy_operands.h"

namespace ak::emulator {
namespace {

// Program::slots of an op: the destination's address, the mbarrier's address, and then registers with the values,
// or the source's address and the number of bytes (copy_operands.h).
// Op::immediate is the ElementUpdate, 0 for a plain store; aux has the bytes of an element and the flags below.
constexpr std::uint32_t kTo = 0, kBarrierWord = 3, kValues = 6, kFrom = 6, kBytesWord = 9;
enum : std::uint32_t { kElementBytes = 0xF, kToGlobal = 16 };
constexpr std::uint32_t kRangeAlignment = 16;  // PTX ISA 9.0, "cp.reduce.async.bulk"

std::optional<SharedPlace> range_in_shared(Warp& warp, const Op& op, int lane, std::uint32_t word,
                                           std::uint32_t bytes, std::uint32_t alignment, AccessKind kind) {
  return shared_range(warp, op, lane, address_at(warp, op, word, lane), bytes, alignment, kind);
}

std::optional<SharedPlace> barrier_of(Warp& warp, const Op& op, int lane) {
  const auto place = shared_place(warp, address_at(warp, op, kBarrierWord, lane), 8);
  if (place && place->offset % 8 == 0 && load_mbarrier(*place)) return place;
  stop_with(warp, op, lane, FaultKind::uninitialized_read,
            "the mbarrier of this instruction was not initialised");
  return std::nullopt;
}

/// Combines `count` bytes at `from` into those at `to`, element by element.
void combine(ElementUpdate update, std::size_t element, std::byte* to, const std::byte* from,
             std::size_t count) {
  if (update == nullptr) {
    std::memcpy(to, from, count);
    return;
  }
  for (std::size_t at = 0; at < count; at += element) update(to + at, from + at);
}

/// The bytes have arrived in shared memory: they are there for who acquires the mbarrier.
void arrived(Warp& warp, int lane, const SharedPlace& to, std::uint32_t bytes, const SharedPlace& barrier) {
  Checker* checker = warp.launch->checker;
  if (checker != nullptr && to.block == warp.block) checker->async_completed(warp, to.offset, bytes, -1);
  if (!to.block->shared_written.empty())
    std::fill_n(to.block->shared_written.begin() + to.offset, bytes, std::uint8_t{1});
  if (checker != nullptr) checker->released(warp, *barrier.block, barrier.offset, 1u << lane);
  complete_bytes(barrier, bytes);
}

ElementUpdate update_of(const Op& op) { return reinterpret_cast<ElementUpdate>(op.immediate); }

// ---- st.async, red.async: the values of one thread

constexpr std::size_t kMaxUpdateBytes = 32;  ///< of a thread: four elements of 64 bits
using Values = std::array<std::byte, kMaxUpdateBytes>;

Values values_of(const Warp& warp, const Op& op, int lane) {
  const std::size_t element = op.aux & kElementBytes;
  Values values{};
  for (std::uint32_t i = kValues; i < op.more_count; ++i) {
    const Slot slot = warp.launch->program.slots[op.more + i];
    std::byte* to = values.data() + (i - kValues) * element;
    if (element == 8)
      std::memcpy(to, source<std::uint64_t>(warp, slot) + lane, element);
    else
      std::memcpy(to, source<std::uint32_t>(warp, slot) + lane, element);
  }
  return values;
}

void update_later(Warp& warp, const Op& op) {
  const ElementUpdate update = update_of(op);
  const std::uint32_t element = op.aux & kElementBytes, bytes = element * (op.more_count - kValues);
  for_each_lane(warp.mask, [&](int lane) {
    if (warp.launch->stop) return;
    const auto to = range_in_shared(warp, op, lane, kTo, bytes, bytes,
                                    update == nullptr ? AccessKind::async_write : AccessKind::atomic);
    if (!to) return;
    const auto barrier = barrier_of(warp, op, lane);
    if (!barrier) return;
    if (counts_traffic(warp)) {
      CopyTraffic traffic;
      traffic.shared(bytes, 1);
      traffic.count(warp, op);
    }
    add_async_work(warp, [warp = &warp, lane, update, element, bytes, to = *to, barrier = *barrier,
                          values = values_of(warp, op, lane)](Launch&) {
      combine(update, element, to.host(), values.data(), bytes);
      arrived(*warp, lane, to, bytes, barrier);
    });
  });
}

// ---- cp.reduce.async.bulk

/// Global memory that the range goes to, or a fault.
std::byte* range_in_global(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  const std::uint64_t to = address_at(warp, op, kTo, lane);
  if (!may_touch(warp, op, Space::global, to, lane, bytes, AccessKind::atomic)) return nullptr;
  std::byte* memory = warp.launch->arena.host(to, bytes);
  if (memory == nullptr || to % kRangeAlignment != 0) {
    stop_with(warp, op, lane, memory == nullptr ? FaultKind::out_of_bounds : FaultKind::misaligned,
              fmt::format("a bulk reduction of {} bytes to global address 0x{:x}", bytes, to));
    return nullptr;
  }
  return memory;
}

void count_reduction(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  if (!counts_traffic(warp)) return;
  CopyTraffic traffic;
  const bool to_global = (op.aux & kToGlobal) != 0;
  if (to_global) traffic.global(address_at(warp, op, kTo, lane), bytes);
  traffic.shared(bytes, to_global ? 1 : 2);
  traffic.count(warp, op);
}

void reduce_lane(Warp& warp, const Op& op, int lane) {
  const ElementUpdate update = update_of(op);
  const std::uint32_t element = op.aux & kElementBytes;
  const std::uint32_t bytes = number_at(warp, op, kBytesWord, lane);
  if (bytes % kRangeAlignment != 0)
    return stop_with(warp, op, lane, FaultKind::misaligned,
                     fmt::format("a bulk reduction of {} bytes, which is not a multiple of 16", bytes));
  const auto from = range_in_shared(warp, op, lane, kFrom, bytes, kRangeAlignment, AccessKind::async_read);
  if (!from) return;
  count_reduction(warp, op, lane, bytes);
  if ((op.aux & kToGlobal) != 0) {
    std::byte* memory = range_in_global(warp, op, lane, bytes);
    if (memory == nullptr) return;
    announce_read(warp, op, lane, *from, bytes);
    add_async_work(warp, [update, element, memory, from = *from, bytes](Launch&) {
      combine(update, element, memory, from.host(), bytes);
    });
    return;
  }
  const auto to = range_in_shared(warp, op, lane, kTo, bytes, kRangeAlignment, AccessKind::atomic);
  if (!to) return;
  const auto barrier = barrier_of(warp, op, lane);
  if (!barrier) return;
  add_async_work(warp, [warp = &warp, lane, update, element, to = *to, from = *from, bytes,
                        barrier = *barrier](Launch&) {
    combine(update, element, to.host(), from.host(), bytes);
    arrived(*warp, lane, to, bytes, barrier);
  });
}

void reduce_range(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    if (!warp.launch->stop) reduce_lane(warp, op, lane);
  });
}

// ---- lowering

ElementUpdate named_update(const Lowering& lowering, Type type) {
  const auto reduction = reduction_of(lowering);
  const ElementUpdate update = reduction ? element_update(kReductions[*reduction], type) : nullptr;
  if (update == nullptr) Lowering::unsupported("this operation on this type");
  return update;
}

Op value_op(Lowering& lowering, ElementUpdate update) {
  if (!lowering.has("mbarrier::complete_tx::bytes"))
    Lowering::unsupported("a form that does not complete on an mbarrier");
  const Type type = lowering.type();
  if (bytes(type) < 4 || bytes(type) > 8) Lowering::unsupported("this type");
  if (lowering.operand_count() != 3) Lowering::unsupported("this number of operands");
  Op op{.run = update_later,
        .immediate = reinterpret_cast<std::int64_t>(update),
        .aux = static_cast<std::uint32_t>(bytes(type))};
  std::vector<Slot> words;
  append_address(lowering, lowering.operand(0), words);
  append_address(lowering, lowering.operand(2), words);
  const std::vector<Slot> values = lowering.sources(lowering.operand(1), type);
  const std::size_t named = lowering.has("v2") ? 2 : lowering.has("v4") ? 4 : 1;
  if (values.size() != named) Lowering::unsupported("a vector of another length than the operands");
  words.insert(words.end(), values.begin(), values.end());
  lowering.more(op, words);
  lowering.classify(InstructionClass::async_copy);
  return op;
}

std::optional<Op> lower_st(Lowering& lowering) {
  if (!lowering.has("async") || lowering.has("global")) return std::nullopt;  // memory_ops.cpp
  lowering.accept_modifiers({"async", "weak", "shared::cluster", "mbarrier::complete_tx::bytes", "v2", "v4"});
  return value_op(lowering, nullptr);
}

std::optional<Op> lower_red(Lowering& lowering) {
  if (!lowering.has("async") || lowering.has("global")) return std::nullopt;  // atomic_ops.cpp
  lowering.accept_modifiers({"async", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes",
                             "add", "min", "max", "inc", "dec", "and", "or", "xor"});
  const Type type = lowering.type();
  if (is_float(type)) Lowering::unsupported("this operation on this type");
  return value_op(lowering, named_update(lowering, type));
}

std::optional<Op> lower_reduce(Lowering& lowering) {
  if (!lowering.has("reduce") || lowering.has("tensor")) return std::nullopt;
  lowering.accept_modifiers({"reduce", "async", "bulk", "global", "shared::cta", "shared::cluster",
                             "bulk_group", "mbarrier::complete_tx::bytes", "L2::cache_hint", "noftz", "add",
                             "min", "max", "inc", "dec", "and", "or", "xor"});
  const Type type = lowering.type();
  const bool to_global = lowering.has("bulk_group");
  if (to_global != lowering.has("global")) Lowering::unsupported("these state spaces");
  if (!to_global && is_float(type)) Lowering::unsupported("this operation on this type");
  const bool half_sum = lowering.has("add") && bytes(type) == 2;
  if (half_sum != lowering.has("noftz")) Lowering::unsupported("this type with or without .noftz");
  Op op{.run = reduce_range,
        .immediate = reinterpret_cast<std::int64_t>(named_update(lowering, type)),
        .aux = static_cast<std::uint32_t>(bytes(type)) | (to_global ? kToGlobal : 0u)};
  std::vector<Slot> words;
  append_address(lowering, lowering.operand(0), words);
  append_address(lowering, lowering.operand(to_global ? 0 : 3), words);
  append_address(lowering, lowering.operand(1), words);
  words.push_back(lowering.source(lowering.operand(2), Type::u32));
  lowering.more(op, words);
  lowering.classify(InstructionClass::async_copy);
  return op;
}

}  // namespace

std::span<const Mnemonic> async_update_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"st", lower_st, 0}, {"red", lower_red, 0}, {"cp", lower_reduce, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator
