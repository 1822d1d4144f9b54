// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "emulator/check/shadow_record.h"
#include "emulator/check/vector_clock.h"

namespace ak::emulator {

/// Which writes have passed a fence.proxy.async, after their own thread executed one or a thread that is
/// ordered after them. A fence that is not on the way from a write to its asynchronous reader counts as if it
/// were, so that no order that exists is missed.
class ProxyFences {
 public:
  void reset(std::uint32_t clock, std::size_t warps) {
    covered_.at.fill(~0u);
    std::fill_n(covered_.at.begin(), warps, clock);
    lanes_ = {};
    limit_ = limit_of(covered_);
  }
  /// A fence of all lanes of a warp that know of everything up to `known`. What they know of one lane counts
  /// for all lanes of its warp.
  void whole_warp(const VectorClock& known) {
    covered_.join(known.of_any_lane());
    limit_ = limit_of(covered_);
  }
  /// A fence of some lanes: `known` ends before the warp's present `clock`, of which theirs alone counts.
  void some_lanes(std::uint32_t warp, std::uint32_t lanes, const VectorClock& known, std::uint32_t clock) {
    whole_warp(known);
    for (std::uint32_t lane = 0; lane < lanes_[warp].size(); ++lane) {
      if ((lanes >> lane & 1u) != 0) lanes_[warp][lane] = clock;
    }
  }
  [[nodiscard]] bool covers(ThreadRecord write) const {
    if (write.bits < limit_) return true;
    if (write.clock() <= covered_.at[write.participant()]) return true;
    const auto& lanes = lanes_[write.participant()];
    if (write.sharing() == ThreadRecord::alone)
      return write.clock() <= lanes[static_cast<std::size_t>(write.lane())];
    return std::any_of(lanes.begin(), lanes.end(), [&](std::uint32_t at) { return write.clock() <= at; });
  }

 private:
  /// Records below it are covered whoever wrote them.
  [[nodiscard]] static std::uint64_t limit_of(const VectorClock& covered) {
    return (std::uint64_t{covered.floor()} + 1) << ThreadRecord::kClockShift;
  }
  VectorClock covered_;
  std::uint64_t limit_ = 0;
  std::array<std::array<std::uint32_t, 32>, kMaxWarps> lanes_{};  ///< clocks by warp and lane
};

}  // namespace ak::emulator
