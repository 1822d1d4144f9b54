// SPDX-License-Identifier: Apache-2.0
#include "agent/proposal_schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agent/budgets.h"
#include "agent/champion.h"

namespace ak::agent {
namespace {

constexpr double kSearchShare = 0.5;  // of the evaluations, while a source still writes candidates; chosen

}  // namespace

ProposalSchedule::ProposalSchedule(const SearchContext& context, Proposals& proposals, SearchLog& record,
                                   SearchProgress& progress)
    : context_(context),
      proposals_(proposals),
      record_(record),
      progress_(progress),
      pruning_(context.options, proposals) {}

/// A source that still writes is left a share of a limited number of evaluations.
std::int64_t ProposalSchedule::search_limit() const {
  const auto limit =
      context_.options.budgets.max_evaluations.value_or(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(kSearchShare * static_cast<double>(limit));
}

void ProposalSchedule::fill(std::optional<double> best_ns) {
  const LoopOptions& options = context_.options;
  proposals_.allow_search(!context_.source_works() || options.source->resting() ||
                          searched_ < search_limit());
  const int useful = std::clamp(context_.evaluator.capabilities().useful_in_flight, 1, options.max_in_flight);
  const std::int64_t slots =
      std::min<std::int64_t>(useful, room_in_flight(options.budgets, progress_.spent()));
  while (std::ssize(in_flight_) < slots) {
    auto next = pruning_.next(best_ns);
    if (!next) return;
    if (next->why_pruned.empty())
      submit(std::move(next->item), best_ns);
    else
      prune(next->item, std::move(next->why_pruned), best_ns);
  }
}

EvaluationRequest ProposalSchedule::request_for(const Proposal& proposal,
                                                std::optional<double> best_ns) const {
  Candidate candidate = proposals_.candidate(proposal.template_index);
  candidate.tunables = proposal.point;
  return context_.request(std::move(candidate), best_ns);
}

void ProposalSchedule::submit(PredictedProposal item, std::optional<double> best_ns) {
  const Ticket ticket = context_.evaluator.submit(request_for(item.proposal, best_ns));
  if (!item.proposal.is_start && !item.proposal.is_retry) ++searched_;
  in_flight_.emplace(ticket, Flight{std::move(item), record_.next_iteration()});
}

/// Kept with its reason and the prediction, but no evaluation: it counts towards no budget.
void ProposalSchedule::prune(const PredictedProposal& item, std::string why, std::optional<double> best_ns) {
  Completed never;
  never.request = request_for(item.proposal, best_ns);
  never.result.outcome.status = Status::pruned;
  never.result.outcome.stage = StageId::predict;
  never.result.outcome.message = std::move(why);
  const StoredEvaluation stored = record_.commit(never, {.arm = context_.options.strategy, .item = &item});
  tell(item.proposal, std::nullopt, stored.evaluation);
  progress_.count_pruned();
}

const Flight* ProposalSchedule::find(Ticket ticket) const {
  const auto found = in_flight_.find(ticket);
  return found == in_flight_.end() ? nullptr : &found->second;
}

std::optional<Flight> ProposalSchedule::take(Ticket ticket) {
  auto node = in_flight_.extract(ticket);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void ProposalSchedule::tell(const Proposal& proposal, std::optional<double> time_ns, RowId evaluation) {
  const auto begin = context_.clock.now();
  proposals_.tell(proposal, time_ns);
  record_.note_told(evaluation, begin, context_.clock.now());
}

void ProposalSchedule::learn(const Completed& completed, const Flight& flight, RowId evaluation,
                             std::optional<double> rank_ns) {
  if (inconclusive(completed.result) && !flight.item.proposal.is_retry) {
    proposals_.retry(flight.item.proposal);
    return;
  }
  const bool useful = passed(completed.result, context_.depth);
  if (useful && !rank_ns)
    proposals_.give_up(flight.item.proposal);  // it is right, so it has not failed
  else
    tell(flight.item.proposal, useful ? rank_ns : std::nullopt, evaluation);
  if (useful && flight.item.predicted && completed.result.score_ns)
    pruning_.learn(*flight.item.predicted, *completed.result.score_ns);
}

void ProposalSchedule::cancel() {
  for (const auto& [ticket, flight] : in_flight_) context_.evaluator.cancel(ticket);
}

}  // namespace ak::agent
