// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace ak::emulator {

/// Parties that access a block's shared memory: its warps, and the copy engine last.
inline constexpr std::uint32_t kMaxWarps = 32, kCopyEngine = kMaxWarps;

/// Per party, the clock up to which its accesses are known to have happened before.
struct VectorClock {
  alignas(32) std::array<std::uint32_t, 40> at{};  ///< padded to whole vectors

  void join(const VectorClock& other) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = std::max(at[i], other.at[i]);
  }
  /// Up to this clock all warps' accesses have happened before. The copy engine does not count: its records
  /// are distinguished from the warps'.
  [[nodiscard]] std::uint32_t floor() const {
    std::uint32_t least = at[0];
    for (std::size_t i = 1; i < kMaxWarps; ++i) least = std::min(least, at[i]);
    return least;
  }
};

}  // namespace ak::emulator
