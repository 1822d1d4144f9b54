// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/copy_engine.h"

#include <algorithm>
#include <bit>

#include "emulator/check/async_checker.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/machine/shared_range.h"

namespace ak::emulator {

bool may_touch(Warp& warp, const Op& op, Space space, std::uint64_t address, int lane, std::uint64_t bytes,
               AccessKind kind) {
  Checker* checker = warp.launch->checker;
  return checker == nullptr || bytes == 0 ||
         checker->access_range(warp, op, space, address, lane, bytes, kind);
}

std::vector<Block*> receivers(const Warp& warp, const SharedPlace& place,
                              std::optional<std::uint32_t> ranks) {
  if (!ranks) return {place.block};
  std::vector<Block*> blocks;
  for (Block* block : warp.block->cluster) {
    if ((*ranks >> block->cluster_rank & 1u) != 0) blocks.push_back(block);
  }
  return blocks;
}

std::uint64_t receiver_count(const Warp& warp, std::uint32_t ranks) {
  const auto blocks = static_cast<int>(std::min<std::size_t>(warp.block->cluster.size(), 16));
  return static_cast<std::uint64_t>(std::popcount(ranks & ((1u << blocks) - 1)));
}

void finish_copy(Warp* warp, Block* block, std::uint32_t offset, std::uint32_t bytes) {
  Checker* const checker = warp->launch->checker;
  if (checker != nullptr && block == warp->block)
    checker->async_completed(*warp, offset, bytes, -1);
  else if (checker != nullptr)
    checker->async().copy_arrived(*block, offset, bytes);
  if (!block->shared_written.empty())
    std::fill_n(block->shared_written.begin() + offset, bytes, std::uint8_t{1});
}

void signal_copy(Warp* warp, int lane, Block* block, std::uint32_t offset, std::uint32_t bytes) {
  if (Checker* checker = warp->launch->checker) checker->released(*warp, *block, offset, 1u << lane);
  complete_bytes({block, offset}, bytes);
}

std::vector<Block*> barrier_blocks(const std::optional<SharedPlace>& barrier,
                                   const std::vector<Block*>& receiving, std::optional<std::uint32_t> ranks) {
  if (ranks) return receiving;
  return barrier ? std::vector<Block*>{barrier->block} : std::vector<Block*>{};
}

bool valid_barrier(Warp& warp, const Op& op, int lane, const std::optional<SharedPlace>& barrier,
                   const std::vector<Block*>& blocks) {
  const auto is_valid = [&](Block* block) { return load_mbarrier({block, barrier->offset}).has_value(); };
  if (barrier && barrier->offset % 8 == 0 && std::all_of(blocks.begin(), blocks.end(), is_valid)) {
    if (warp.launch->checker == nullptr) return true;
    for (Block* block : blocks)
      warp.launch->checker->async().mbarrier_used(warp, op, lane, {block, barrier->offset}, true);
    return true;
  }
  stop_with(warp, op, lane, FaultKind::uninitialized_read, "the mbarrier of this copy was not initialised");
  return false;
}

void announce_writes(Warp& warp, const Op& op, int lane, const std::vector<Block*>& blocks,
                     std::uint32_t offset, std::uint32_t bytes) {
  if (warp.launch->checker == nullptr) return;
  for (Block* block : blocks)
    warp.launch->checker->async().copy_writes(warp, op, lane, *block, offset, bytes);
}

void announce_read(Warp& warp, const Op& op, int lane, const SharedPlace& from, std::uint64_t bytes) {
  if (warp.launch->checker != nullptr && from.block == warp.block)
    warp.launch->checker->async().begin_read(warp, op, lane, chunks_of(from.offset, bytes));
}

}  // namespace ak::emulator
