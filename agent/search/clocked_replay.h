// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/search/replay.h"

namespace ak::agent {

/// Until the target was reached, or until the end of the budget.
struct ClockTime {
  bool reached = false;
  double spent_s = 0;
};

/// A replay by the clock of a machine that builds `compile_workers` points at a time (at least one) while its
/// one GPU times another, each for as long as was recorded. As in a real search there is one point
/// more in flight than builds, so the strategy proposes before it has all answers; after the first answer no
/// more builds than twice those that keep the GPU busy. The GPU takes builds in
/// the order in which they end. The strategy's own time is left out.
[[nodiscard]] ClockTime clocked_replay(const ReplaySpace& space, const Strategy& strategy, std::uint64_t seed,
                                       std::size_t budget, double target, std::size_t compile_workers,
                                       const EarlierSearches& earlier = {});

}  // namespace ak::agent
