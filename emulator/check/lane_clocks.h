// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace ak::emulator {

/// Within one warp: up to which clock of the warp each lane has seen what each other lane did. Needed once
/// some lanes meet without the others: `__syncwarp(mask)` orders the lanes that the mask names, no others.
class LaneClocks {
 public:
  /// The lanes in `mask` met at `clock`: each has seen what any of them had.
  void meet(std::uint32_t mask, std::uint32_t clock) {
    Row all{};
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      Row& row = seen_[static_cast<std::size_t>(std::countr_zero(left))];
      row[static_cast<std::size_t>(std::countr_zero(left))] = clock;
      for (std::size_t i = 0; i < row.size(); ++i) all[i] = std::max(all[i], row[i]);
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1)
      seen_[static_cast<std::size_t>(std::countr_zero(left))] = all;
  }
  /// Whether what lane `first` did at `clock` happened before what lane `second` does now.
  [[nodiscard]] bool ordered(int first, std::uint32_t clock, int second) const {
    return clock <= seen_[static_cast<std::size_t>(second)][static_cast<std::size_t>(first)];
  }

 private:
  using Row = std::array<std::uint32_t, 32>;
  std::array<Row, 32> seen_{};
};

}  // namespace ak::emulator
