// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <climits>

#include "core/build.h"
#include "core/error.h"

namespace ak {
namespace {

// CUDA Occupancy Calculator: units in which registers, warps and shared memory are given out.
constexpr int kWarpThreads = 32;
constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kRegisterUnit = 256;
constexpr int kSubPartitions = 4;
constexpr int kReservedSharedBytes = 1024;
constexpr int kAmpere =
    80;  // from here on shared memory is reserved per block, and its unit is 128, not 256 bytes

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

int blocks_by_registers(const ArchLimits& limits, int registers, int warps_per_block) {
  if (registers == 0) return INT_MAX;
  if (registers > limits.max_registers_per_thread) return 0;
  const int per_warp = round_up(registers * kWarpThreads, kRegisterUnit);
  // A launch is admitted as if every sub-partition of the SM held the same number of its warps.
  if (per_warp * round_up(warps_per_block, kSubPartitions) > limits.registers_per_sm) return 0;
  const int warps_per_sm = limits.registers_per_sm / kSubPartitions / per_warp * kSubPartitions;
  return warps_per_sm / warps_per_block;
}

int blocks_by_shared_memory(const ArchLimits& limits, int shared_bytes) {
  if (shared_bytes > limits.shared_bytes_per_block) return 0;
  const int per_block = limits.number >= kAmpere ? round_up(shared_bytes + kReservedSharedBytes, 128)
                                                 : round_up(shared_bytes, 256);
  return per_block == 0 ? INT_MAX : limits.shared_bytes_per_sm / per_block;
}

}  // namespace

Occupancy occupancy(const ArchLimits& limits, const KernelFacts& kernel, int threads_per_block,
                    int dynamic_shared_bytes) {
  AK_ASSERT(threads_per_block > 0 && dynamic_shared_bytes >= 0, "a block has threads and no negative memory");
  const int warps = round_up(threads_per_block, kWarpThreads) / kWarpThreads;
  const int max_warps = limits.max_threads_per_sm / kWarpThreads;
  struct Limit {
    int blocks;
    const char* name;
  };
  // Of equal limits the first is named: a full SM is limited by its size, whatever else would just
  // fit as well.
  const std::array candidates{
      Limit{threads_per_block > kMaxThreadsPerBlock ? 0 : max_warps / warps, "block size"},
      Limit{limits.max_blocks_per_sm, "blocks"},
      Limit{blocks_by_registers(limits, kernel.registers, warps), "registers"},
      Limit{blocks_by_shared_memory(limits, kernel.static_shared_bytes + dynamic_shared_bytes),
            "shared memory"},
  };
  const Limit least = *std::min_element(candidates.begin(), candidates.end(),
                                        [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  return {least.blocks, static_cast<double>(least.blocks * warps) / max_warps, least.name};
}

}  // namespace ak
