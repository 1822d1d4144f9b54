// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/device/arch.h"
#include "emulator/machine/counters.h"

namespace ak::runtime {

/// What the estimate needs of a launch in addition to its counters.
struct LaunchShape {
  std::uint64_t blocks = 1;
  std::uint32_t threads = 1;       ///< of one block
  std::uint32_t shared_bytes = 0;  ///< of one block, static and dynamic
};

/// Nanoseconds that stand for a launch's work: an estimate to rank variants, not a GPU time. It is what the
/// counted work would take ONE multiprocessor of the target with its share of the device's memory bandwidth,
/// since workloads for the emulator are smaller than a GPU's by about as much:
///
///   launch overhead + max(issue, special functions, tensor cores, shared memory, global memory)
///
/// - issue: warp instructions at 4 a cycle, or at one in 4 cycles for each resident warp when those are few;
/// - special functions: 16 threads a cycle; tensor cores: the target's dense 16-bit rate;
/// - shared memory: one wavefront per cycle (so bank conflicts cost), atomic conflicts one more each;
/// - global and local memory: 32-byte sectors touched (so uncoalesced accesses cost) at the bandwidth share,
///   or at what the resident warps keep in flight over the memory's latency when that is less.
///
/// Caches, register pressure and how evenly blocks fill a whole device are not in it. Deterministic.
[[nodiscard]] double emulated_cost_ns(const emulator::CounterSummary& counts, const LaunchShape& shape,
                                      const Arch& target);

}  // namespace ak::runtime
