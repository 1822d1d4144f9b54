// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "agent/proposals.h"
#include "agent/pruning.h"
#include "agent/search_context.h"
#include "agent/search_log.h"
#include "agent/search_progress.h"

namespace ak::agent {

/// A proposal that is being evaluated.
struct Flight {
  PredictedProposal item;
  int iteration = 0;
};

/// Which proposals are evaluated and when: as many at a time as keep the device busy and the budgets allow, the
/// hopeless ones left out; and what the strategies learn of them. One thread.
class ProposalSchedule {
 public:
  /// All must outlive it.
  ProposalSchedule(const SearchContext& context, Proposals& proposals, SearchLog& record,
                   SearchProgress& progress);

  /// Submits what there is room for. While a source writes candidates, too, the strategies get a share of the
  /// evaluations. @param best_ns score of the champion
  void fill(std::optional<double> best_ns);
  /// Null for another ticket than those of proposals in flight; valid until the next call that is not const.
  [[nodiscard]] const Flight* find(Ticket ticket) const;
  /// The proposal whose evaluation has ended; nothing for another ticket.
  [[nodiscard]] std::optional<Flight> take(Ticket ticket);
  /// Tells the strategy what came of it; a proposal without a verdict is tried once more.
  /// @param rank_ns what the strategy is to make small; nothing: there is none of this candidate, and of one that
  /// passed the strategy learns nothing
  void learn(const Completed& completed, const Flight& flight, RowId evaluation,
             std::optional<double> rank_ns);

  [[nodiscard]] int in_flight() const { return static_cast<int>(in_flight_.size()); }
  /// Asks the evaluator to end what is in flight; it is still taken.
  void cancel();
  /// Gives up what is in flight.
  void clear() { in_flight_.clear(); }

 private:
  [[nodiscard]] std::int64_t search_limit() const;
  [[nodiscard]] EvaluationRequest request_for(const Proposal& proposal, std::optional<double> best_ns) const;
  void submit(PredictedProposal item, std::optional<double> best_ns);
  void prune(const PredictedProposal& item, std::string why, std::optional<double> best_ns);
  void tell(const Proposal& proposal, std::optional<double> time_ns, RowId evaluation);

  const SearchContext& context_;
  Proposals& proposals_;
  SearchLog& record_;
  SearchProgress& progress_;
  Pruning pruning_;
  std::unordered_map<Ticket, Flight> in_flight_;
  std::int64_t searched_ = 0;  ///< evaluations that a strategy proposed
};

}  // namespace ak::agent
