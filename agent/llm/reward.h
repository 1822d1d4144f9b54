// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "agent/llm/archive.h"

namespace ak::agent {

// What a candidate is worth to the bandit: half for taking the lead and the rest up to a gain of 10 %, a
// little for coming close, so that arms which lead nowhere are distinguished. Chosen.
inline constexpr double kLeadReward = 0.5, kFullGain = 0.1, kCloseReward = 0.1, kClose = 1.25;

/// In [0, 1]. @param best_ns the score to beat; nothing where there is none
[[nodiscard]] inline double reward_of(const Attempt& attempt, std::optional<double> best_ns) {
  if (!attempt.passed) return 0;
  if (!attempt.score_ns || !best_ns) return kCloseReward;
  const double gain = 1 - *attempt.score_ns / *best_ns;
  if (gain > 0) return kLeadReward + (1 - kLeadReward) * std::min(gain / kFullGain, 1.0);
  return *attempt.score_ns <= kClose * *best_ns ? kCloseReward : 0;
}

}  // namespace ak::agent
