// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/device/arch.h"

namespace ak {

/// CUDA's limit, on every architecture (CUDA Programming Guide, Technical Specifications per Compute Capability).
inline constexpr int kMaxThreadsPerBlock = 1024;

/// What one block asks of an SM.
struct BlockNeeds {
  int threads = 0;
  int registers = 0;     ///< of a thread
  int shared_bytes = 0;  ///< static and dynamic
  int barriers = 0;      ///< that the block synchronises with
  friend bool operator==(const BlockNeeds&, const BlockNeeds&) = default;
};

/// A resource of an SM and how many of the blocks fit into it.
struct ResourceFit {
  std::string_view resource;  ///< "block size", "blocks", "registers", "shared memory" or "barriers"
  int blocks = 0;             ///< kUnlimited: a block needs none of it
};
inline constexpr int kUnlimited = 1 << 30;

/// How many blocks an SM holds at once, and why not more.
struct BlockOccupancy {
  std::array<ResourceFit, 5> fits;  ///< of equal ones the first is named first
  int blocks_per_sm = 0;            ///< 0: the block cannot be launched
  int warps_per_sm = 0, max_warps_per_sm = 0;

  [[nodiscard]] double ratio() const { return static_cast<double>(warps_per_sm) / max_warps_per_sm; }
  /// The resources into which no other block fits, at least one.
  [[nodiscard]] std::vector<std::string_view> limiters() const;
};

/// By the rules of the toolkit's cuda_occupancy.h, with as much of the L1 cache as shared memory as there can be. A
/// block has at least one thread and needs nothing negative.
[[nodiscard]] BlockOccupancy block_occupancy(const ArchLimits& limits, const BlockNeeds& block);

/// The smallest change of a block that lets more warps be resident.
struct OccupancyStep {
  BlockNeeds block;  ///< what differs is the new number of threads, or the most that a block may use
  BlockOccupancy occupancy;
};

/// Where registers, shared memory or barriers limit, what one more block of the same size needs. Where the block's size
/// or the number of blocks does, the nearest other size, with fewer of the others where it needs that. Nothing where
/// the SM is full.
[[nodiscard]] std::optional<OccupancyStep> next_occupancy_step(const ArchLimits& limits,
                                                               const BlockNeeds& block);

/// Of the catalogue's architectures and of Volta, which CUDA 13 no longer compiles for.
[[nodiscard]] std::optional<ArchLimits> occupancy_limits(const Arch& arch);

}  // namespace ak
