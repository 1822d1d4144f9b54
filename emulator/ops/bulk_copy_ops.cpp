// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk: copies of whole ranges by the copy engine, and groups of copies.
#include <fmt/format.h>

#include <cstring>

#include "emulator/check/async_checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_counts.h"
#include "emulator/machine/shared_range.h"
#include "emulator/ops/copy_engine.h"
#include "emulator/ops/copy_operands.h"
#include "emulator/ops/tensor_copy_ops.h"

namespace ak::emulator {
namespace {

enum class Direction : std::uint32_t { global_to_shared, shared_to_global, shared_to_shared };
enum : std::uint32_t { kDirection = 3, kMulticast = 4 };
constexpr std::uint32_t kDestination = 0, kSource = 3, kSize = 6, kBarrier = 7, kRanks = 10;
constexpr std::uint32_t kBulkAlignment = 16;  // PTX ISA 9.0, "cp.async.bulk"

void copy_to_shared(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  const bool from_shared = static_cast<Direction>(op.aux & kDirection) == Direction::shared_to_shared;
  const std::uint64_t from = address_at(warp, op, kSource, lane);
  const auto to = shared_range(warp, op, lane, address_at(warp, op, kDestination, lane), bytes,
                               kBulkAlignment, AccessKind::async_write);
  if (!to) return;
  std::optional<std::uint32_t> ranks;
  if ((op.aux & kMulticast) != 0) ranks = number_at(warp, op, kRanks, lane);
  const auto barrier = shared_place(warp, address_at(warp, op, kBarrier, lane), 8);
  const std::vector<Block*> blocks = receivers(warp, *to, ranks);
  if (!valid_barrier(warp, op, lane, barrier, barrier_blocks(barrier, blocks, ranks))) return;
  std::byte* source_memory = nullptr;
  if (from_shared) {
    const auto place = shared_range(warp, op, lane, from, bytes, kBulkAlignment, AccessKind::async_read);
    if (!place) return;
    source_memory = place->host();
  } else {
    if (!may_touch(warp, op, Space::global, from, lane, bytes, AccessKind::async_read)) return;
    source_memory = warp.launch->arena.host(from, bytes);
    if (source_memory == nullptr || from % kBulkAlignment != 0)
      return stop_with(warp, op, lane,
                       source_memory == nullptr ? FaultKind::out_of_bounds : FaultKind::misaligned,
                       fmt::format("a bulk copy of {} bytes from global address 0x{:x}", bytes, from));
  }
  announce_writes(warp, op, lane, blocks, to->offset, bytes);
  for (Block* block : blocks) {
    add_async_work(warp, [warp = &warp, lane, block, to = to->offset, at = barrier->offset, source_memory,
                          bytes, own = ranks ? nullptr : barrier->block](Launch&) {
      std::memcpy(block->shared + to, source_memory, bytes);
      finish_copy(warp, block, to, bytes);
      signal_copy(warp, lane, own != nullptr ? own : block, at, bytes);
    });
  }
}

void copy_to_global(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  const std::uint64_t to = address_at(warp, op, kDestination, lane);
  const auto from = shared_range(warp, op, lane, address_at(warp, op, kSource, lane), bytes, kBulkAlignment,
                                 AccessKind::async_read);
  if (!from || !may_touch(warp, op, Space::global, to, lane, bytes, AccessKind::write)) return;
  std::byte* memory = warp.launch->arena.host(to, bytes);
  if (memory == nullptr || to % kBulkAlignment != 0)
    return stop_with(warp, op, lane, memory == nullptr ? FaultKind::out_of_bounds : FaultKind::misaligned,
                     fmt::format("a bulk copy of {} bytes to global address 0x{:x}", bytes, to));
  announce_read(warp, op, lane, *from, bytes);
  add_async_work(warp, [memory, from = *from, bytes](Launch&) { std::memcpy(memory, from.host(), bytes); });
}

/// Traffic of the copy of one lane.
void count_range(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  if (!counts_traffic(warp)) return;
  const auto direction = static_cast<Direction>(op.aux & kDirection);
  CopyTraffic traffic;
  if (direction == Direction::global_to_shared)
    traffic.global(address_at(warp, op, kSource, lane), bytes);
  else if (direction == Direction::shared_to_global)
    traffic.global(address_at(warp, op, kDestination, lane), bytes);
  else
    traffic.shared(bytes, 1);
  const bool multicast = (op.aux & kMulticast) != 0;
  traffic.shared(bytes, multicast ? receiver_count(warp, number_at(warp, op, kRanks, lane)) : 1);
  traffic.count(warp, op);
}

void bulk_copy(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    const std::uint32_t bytes = number_at(warp, op, kSize, lane);
    if (bytes % kBulkAlignment != 0)
      return stop_with(warp, op, lane, FaultKind::misaligned,
                       fmt::format("a bulk copy of {} bytes, which is not a multiple of 16", bytes));
    count_range(warp, op, lane, bytes);
    if (static_cast<Direction>(op.aux & kDirection) == Direction::shared_to_global)
      copy_to_global(warp, op, lane, bytes);
    else
      copy_to_shared(warp, op, lane, bytes);
  });
}

Op lower_bulk(Lowering& lowering) {
  lowering.accept_modifiers({"async", "bulk", "shared::cluster", "shared::cta", "global", "bulk_group",
                             "mbarrier::complete_tx::bytes", "multicast::cluster", "L2::cache_hint"});
  const bool to_global = lowering.has("bulk_group");
  const bool from_global = !to_global && lowering.has("global");
  const Direction direction = to_global     ? Direction::shared_to_global
                              : from_global ? Direction::global_to_shared
                                            : Direction::shared_to_shared;
  Op op{.run = bulk_copy, .aux = static_cast<std::uint32_t>(direction)};
  std::vector<Slot> words;
  append_address(lowering, lowering.operand(0), words);
  append_address(lowering, lowering.operand(1), words);
  words.push_back(lowering.source(lowering.operand(2), Type::u32));
  if (!to_global) append_address(lowering, lowering.operand(3), words);
  if (lowering.has("multicast::cluster")) {
    op.aux |= kMulticast;
    words.push_back(lowering.source(lowering.operand(4), Type::b16));
  }
  lowering.more(op, words);
  return op;
}

// ---- groups of copies from shared memory

// Copies are performed all at once. immediate: groups whose sources the checker takes as still being read.
void wait_groups(Warp& warp, const Op& op) {
  while (perform_oldest_work(*warp.block, *warp.launch)) {
  }
  if (warp.launch->checker == nullptr) return;
  for_each_lane(warp.mask, [&](int lane) {
    warp.launch->checker->async().wait(warp, lane, static_cast<std::size_t>(op.immediate));
  });
}
void commit_groups(Warp& warp, const Op&) {
  if (warp.launch->checker == nullptr) return;
  for_each_lane(warp.mask, [&](int lane) { warp.launch->checker->async().commit(warp, lane); });
}
void nothing(Warp&, const Op&) {}

std::optional<Op> lower_copy(Lowering& lowering) {
  if (!lowering.has("bulk")) return std::nullopt;
  if (lowering.has("reduce") && !lowering.has("tensor")) return std::nullopt;  // async_update_ops.cpp
  lowering.classify(InstructionClass::async_copy);
  if (lowering.has("wait_group"))
    return Op{.run = wait_groups, .immediate = static_cast<std::int64_t>(lowering.operand(0).bits)};
  if (lowering.has("commit_group")) return Op{.run = commit_groups};
  if (lowering.has("prefetch")) return Op{.run = nothing};
  return lowering.has("tensor") ? lower_tensor_copy(lowering) : lower_bulk(lowering);
}

}  // namespace

std::span<const Mnemonic> bulk_copy_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"cp", lower_copy, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator
