// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>

#include "agent/champion.h"
#include "agent/proposal_schedule.h"
#include "agent/proposals.h"
#include "agent/search_context.h"
#include "agent/search_log.h"
#include "agent/search_progress.h"

namespace ak::agent {

/// What a search takes from a source of candidates, and which evaluations it passes on; and where the
/// templates came from that are not the problem's own. Without a source only the latter. One thread.
class SourceExchange {
 public:
  /// All must outlive it.
  SourceExchange(const SearchContext& context, Proposals& proposals, SearchLog& record,
                 SearchProgress& progress, const Champion& champion);

  /// True when a candidate was accepted, which is then the next start. One that cannot be is recorded with its
  /// reason. @param in_flight evaluations of proposals
  [[nodiscard]] bool take_offer(int in_flight);

  /// Of a template that others wrote; of a point that a strategy chose in it, the variant that they wrote.
  /// Null for the problem's own.
  [[nodiscard]] const Origin* origin_of(const Flight& flight) const;
  /// Passes an evaluation, which was committed as `variant`, on to the source: of a kernel that it may be asked
  /// to improve when its profile is there. Begins the search of what the source wrote; a note in the evaluation tells
  /// the source where its tunables cannot be searched.
  void tell(const Completed& completed, const Flight& flight, RowId variant);

  /// True when the evaluation was one of the profiles for the source.
  [[nodiscard]] bool take_profile(Completed& completed);
  /// No profile is in flight.
  [[nodiscard]] bool idle() const { return profiles_.empty(); }
  /// Ends the profiles; what they were for is no longer passed on.
  void cancel();

 private:
  /// Passed on to the source when its profile is there.
  struct AwaitingProfile {
    Completed completed;
    Flight flight;
    RowId variant = 0;
  };
  [[nodiscard]] std::optional<Offer> next_offer(int in_flight);
  void refuse(Offer offer);
  [[nodiscard]] bool wants_profile(const Completed& completed, const Flight& flight) const;
  void tell_source(const Completed& completed, const Flight& flight, RowId variant);
  [[nodiscard]] bool is_promising(const EvaluationResult& result) const;
  void adopt(const Flight& flight, RowId variant);

  const SearchContext& context_;
  Proposals& proposals_;
  SearchLog& record_;
  SearchProgress& progress_;
  const Champion& champion_;
  std::unordered_map<Ticket, AwaitingProfile> profiles_;  ///< in flight
  std::unordered_map<std::size_t, Origin> origins_;       ///< of templates that others wrote, by index
};

}  // namespace ak::agent
