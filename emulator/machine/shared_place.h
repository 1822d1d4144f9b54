// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/machine/warp.h"

namespace ak::emulator {

/// A byte in the shared memory of some block of the cluster.
struct SharedPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
  [[nodiscard]] std::byte* host() const { return block->shared + offset; }
};

/// What a shared, shared::cluster or generic address of `bytes` bytes names, seen from `warp`'s block;
/// nothing when it is not a shared memory that exists.
[[nodiscard]] inline std::optional<SharedPlace> shared_place(const Warp& warp, std::uint64_t address,
                                                             std::uint64_t bytes) {
  if ((address & kWindowMask) != 0 && (address & kWindowMask) != kSharedWindow) return std::nullopt;
  const std::uint64_t place = address & ~kWindowMask;
  const std::uint64_t rank = place >> kClusterRankShift;
  const std::uint64_t offset = place & ((std::uint64_t{1} << kClusterRankShift) - 1);
  if (rank > warp.block->cluster.size()) return std::nullopt;
  Block* block = rank == 0 ? warp.block : warp.block->cluster[rank - 1];
  if (offset > block->shared_bytes || bytes > block->shared_bytes - offset) return std::nullopt;
  return SharedPlace{block, static_cast<std::uint32_t>(offset)};
}

}  // namespace ak::emulator
