// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "agent/champion.h"
#include "agent/search_context.h"
#include "agent/search_log.h"
#include "agent/search_progress.h"

namespace ak::agent {

/// Times those that challenge the champion in pairs with it, one at a time, alongside the search and not counted
/// as part of it. One thread.
class Challenges {
 public:
  /// All must outlive it.
  Challenges(const SearchContext& context, SearchLog& record, SearchProgress& progress, Champion& champion)
      : context_(context), record_(record), progress_(progress), champion_(champion) {}

  /// Submits the comparison of the fastest challenger, if there is one and none is in flight.
  void start();
  [[nodiscard]] bool in_flight() const { return comparison_.has_value(); }
  /// True when the evaluation was the comparison: it is recorded, and decides about the lead.
  [[nodiscard]] bool take(Completed& completed);
  /// Decides all that is left, and, where it may, a race of those that follow closely: a suspended search goes on later.
  /// Takes half a minute at most, and ends when someone asks to stop.
  void settle_rest(bool may_race);

 private:
  /// False when the time was over or someone asked to stop.
  [[nodiscard]] bool settle_until(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool settle(const EvaluationResult& result, const std::optional<PairedVerdict>& verdict);

  const SearchContext& context_;
  SearchLog& record_;
  SearchProgress& progress_;
  Champion& champion_;
  std::optional<Ticket> comparison_;  ///< in flight
};

}  // namespace ak::agent
