// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/loop.h"

namespace ak::agent {

/// What a run has used so far.
struct Spent {
  std::int64_t evaluations = 0;   ///< submitted and completed; retries count
  std::int64_t compilations = 0;  ///< completed builds that were not cache hits
  std::int64_t since_gain = 0;    ///< evaluations completed since one took the lead
  std::int64_t tokens = 0;
  double cost_usd = 0;
  std::chrono::steady_clock::duration wall{};
  std::optional<double> best_ns;   ///< score of the champion
  std::optional<double> gain;      ///< RemainingGain::high of what is searched; nothing: not known
  std::optional<double> headroom;  ///< headroom_of() the score; nothing: not known
};

/// Adds one completed evaluation to `spent`.
void account(Spent& spent, const EvaluationResult& result);

/// The stop reason of the first budget that is used up, or nothing. Tokens and money are never used up by a
/// run that spends none, so a limit of 0 forbids models and not the search.
[[nodiscard]] std::optional<std::string_view> budget_reached(const Budgets& budgets, const Spent& spent);

/// Most evaluations that may be in flight without the risk of passing a limit: each may cost one compilation.
[[nodiscard]] std::int64_t room_in_flight(const Budgets& budgets, const Spent& spent);

}  // namespace ak::agent
