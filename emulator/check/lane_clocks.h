// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "emulator/check/vector_clock.h"

namespace ak::emulator {

/// Within one warp: up to which clock of the warp each lane has seen what each other lane did. Needed once
/// some lanes meet without the others: `__syncwarp(mask)` orders the lanes that the mask names, no others.
class LaneClocks {
 public:
  /// The lanes in `mask` met at `clock`: each has seen what any of them had.
  void meet(std::uint32_t mask, std::uint32_t clock) {
    LaneRow all{};
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      LaneRow& row = seen_[static_cast<std::size_t>(std::countr_zero(left))];
      row[static_cast<std::size_t>(std::countr_zero(left))] = clock;
      join(all, row);
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1)
      seen_[static_cast<std::size_t>(std::countr_zero(left))] = all;
  }
  /// Whether what lane `first` did at `clock` happened before what lane `second` does now.
  [[nodiscard]] bool ordered(int first, std::uint32_t clock, int second) const {
    return clock <= seen_[static_cast<std::size_t>(second)][static_cast<std::size_t>(first)];
  }

  /// What lane `lane` has seen of each.
  [[nodiscard]] const LaneRow& seen_by(int lane) const { return seen_[static_cast<std::size_t>(lane)]; }

 private:
  std::array<LaneRow, 32> seen_{};
};

}  // namespace ak::emulator
