// SPDX-License-Identifier: Apache-2.0
#include "core/device/block_occupancy.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"

namespace ak {
namespace {

// cuda_occupancy.h of the CUDA 13.0 toolkit: the units in which registers, warps and shared memory are given out.
constexpr int kWarpThreads = 32;
constexpr int kRegisterUnit = 256;    // of a warp
constexpr int kSubPartitions = 4;     // of an SM, each with a quarter of its registers
constexpr int kReservedBytes = 1024;  // of shared memory, a block, by the system
constexpr int kAmpere = 80;           // from here on bytes are reserved, and the unit is 128, not 256
constexpr int kHopper = 90;           // from here on barriers are given out like the rest
constexpr int kConsumerBlackwell =
    110;  // from here on an SM has as many barriers as blocks, before twice as many

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }
constexpr int warps_of(int threads) { return (threads + kWarpThreads - 1) / kWarpThreads; }
int max_warps(const ArchLimits& limits) { return limits.max_threads_per_sm / kWarpThreads; }

int fit_by_size(const ArchLimits& limits, const BlockNeeds& block) {
  return block.threads > kMaxThreadsPerBlock ? 0 : max_warps(limits) / warps_of(block.threads);
}

int fit_by_registers(const ArchLimits& limits, const BlockNeeds& block) {
  if (block.registers == 0) return kUnlimited;
  if (block.registers > limits.max_registers_per_thread) return 0;
  const int warps = warps_of(block.threads);
  const int per_warp = round_up(block.registers * kWarpThreads, kRegisterUnit);
  // A launch is admitted as if every sub-partition of the SM held the same number of its warps.
  if (per_warp * round_up(warps, kSubPartitions) > limits.registers_per_sm) return 0;
  return limits.registers_per_sm / kSubPartitions / per_warp * kSubPartitions / warps;
}

int shared_unit(const ArchLimits& limits) { return limits.number >= kAmpere ? 128 : 256; }
int reserved_bytes(const ArchLimits& limits) { return limits.number >= kAmpere ? kReservedBytes : 0; }

int fit_by_shared_memory(const ArchLimits& limits, const BlockNeeds& block) {
  if (block.shared_bytes > limits.shared_bytes_per_block) return 0;
  const int taken = round_up(block.shared_bytes + reserved_bytes(limits), shared_unit(limits));
  return taken == 0 ? kUnlimited : limits.shared_bytes_per_sm / taken;
}

int barriers_of_sm(const ArchLimits& limits) {
  return limits.max_blocks_per_sm * (limits.number < kConsumerBlackwell ? 2 : 1);
}

int fit_by_barriers(const ArchLimits& limits, const BlockNeeds& block) {
  if (limits.number < kHopper || block.barriers == 0) return kUnlimited;
  return barriers_of_sm(limits) / block.barriers;
}

/// The same block with no more of registers, shared memory and barriers than lets `blocks` of it be resident.
BlockNeeds shrunk(const ArchLimits& limits, BlockNeeds block, int blocks) {
  while (block.registers > 1 && fit_by_registers(limits, block) < blocks) --block.registers;
  const int unit = shared_unit(limits);
  const int most = limits.shared_bytes_per_sm / blocks / unit * unit - reserved_bytes(limits);
  block.shared_bytes = std::min({block.shared_bytes, std::max(most, 0), limits.shared_bytes_per_block});
  if (limits.number >= kHopper) block.barriers = std::min(block.barriers, barriers_of_sm(limits) / blocks);
  return block;
}

/// Every number of threads that a block may have in whole warps but its own, nearest first; of two as near the larger.
std::vector<int> sizes_by_distance(int threads) {
  std::vector<int> sizes;
  for (int size = kMaxThreadsPerBlock; size >= kWarpThreads; size -= kWarpThreads) {
    if (size != round_up(threads, kWarpThreads)) sizes.push_back(size);
  }
  std::ranges::stable_sort(sizes, {}, [&](int size) { return std::abs(size - threads); });
  return sizes;
}

std::optional<OccupancyStep> step_with(const ArchLimits& limits, const BlockNeeds& block,
                                       int more_than_warps) {
  const BlockOccupancy occupancy = block_occupancy(limits, block);
  if (occupancy.warps_per_sm <= more_than_warps) return std::nullopt;
  return OccupancyStep{.block = block, .occupancy = occupancy};
}

}  // namespace

std::vector<std::string_view> BlockOccupancy::limiters() const {
  std::vector<std::string_view> names;
  for (const ResourceFit& one : fits) {
    if (one.blocks == blocks_per_sm) names.push_back(one.resource);
  }
  return names;
}

BlockOccupancy block_occupancy(const ArchLimits& limits, const BlockNeeds& block) {
  AK_ASSERT(block.threads > 0 && block.registers >= 0 && block.shared_bytes >= 0 && block.barriers >= 0,
            "a block has threads and needs nothing negative");
  // Of equal limits the first is named first: a full SM is limited by its size, whatever else would just fit as well.
  BlockOccupancy found{.fits = {{{"block size", fit_by_size(limits, block)},
                                 {"blocks", limits.max_blocks_per_sm},
                                 {"registers", fit_by_registers(limits, block)},
                                 {"shared memory", fit_by_shared_memory(limits, block)},
                                 {"barriers", fit_by_barriers(limits, block)}}}};
  found.blocks_per_sm = std::ranges::min(found.fits, {}, &ResourceFit::blocks).blocks;
  found.warps_per_sm = found.blocks_per_sm * warps_of(block.threads);
  found.max_warps_per_sm = max_warps(limits);
  return found;
}

std::optional<OccupancyStep> next_occupancy_step(const ArchLimits& limits, const BlockNeeds& block) {
  const BlockOccupancy now = block_occupancy(limits, block);
  if (now.warps_per_sm == now.max_warps_per_sm) return std::nullopt;
  const std::string_view limiter = now.limiters().front();
  if (limiter != "block size" && limiter != "blocks")
    return step_with(limits, shrunk(limits, block, now.blocks_per_sm + 1), now.warps_per_sm);
  for (const bool smaller_needs : {false, true}) {
    for (const int threads : sizes_by_distance(block.threads)) {
      BlockNeeds other = block;
      other.threads = threads;
      if (smaller_needs) other = shrunk(limits, other, now.warps_per_sm / warps_of(threads) + 1);
      if (auto step = step_with(limits, other, now.warps_per_sm)) return step;
    }
  }
  return std::nullopt;
}

std::optional<ArchLimits> occupancy_limits(const Arch& arch) {
  if (arch.number() != 70 && arch.number() != 72) return limits(arch);
  // CUDA C++ Programming Guide 12.9, Technical Specifications per Compute Capability: 7.0 and 7.2.
  return ArchLimits{.number = arch.number(),
                    .max_threads_per_sm = 2048,
                    .max_blocks_per_sm = 32,
                    .registers_per_sm = 65536,
                    .shared_bytes_per_sm = 98304,
                    .shared_bytes_per_block = 98304,
                    .max_registers_per_thread = 255};
}

}  // namespace ak
