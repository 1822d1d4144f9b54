// SPDX-License-Identifier: Apache-2.0
#include "agent/source_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "agent/budgets.h"
#include "agent/evaluate_one.h"

namespace ak::agent {
namespace {

constexpr double kPromising = 2;  // slower than so many times the best: its tunables are not searched

}  // namespace

SourceExchange::SourceExchange(const SearchContext& context, Proposals& proposals, SearchLog& record,
                               SearchProgress& progress, const Champion& champion)
    : context_(context),
      proposals_(proposals),
      record_(record),
      progress_(progress),
      champion_(champion),
      origins_(context.options.origins.begin(), context.options.origins.end()) {}

/// Where every run of a seed is to be the same, an answer comes when it is asked for, however long it takes.
std::optional<Offer> SourceExchange::next_offer(int in_flight) {
  CandidateSource& source = *context_.options.source;
  const std::int64_t room = room_in_flight(context_.options.budgets, progress_.spent()) - in_flight;
  auto offer = source.poll(in_flight > 0, room);
  while (context_.options.max_in_flight == 1 && !offer && source.thinking() && !source.awaits_results() &&
         !source.is_suspended() && !context_.stop_requested()) {
    source.wait(kPollInterval);
    progress_.report_wait();
    offer = source.poll(in_flight > 0, room);
  }
  return offer;
}

bool SourceExchange::take_offer(int in_flight) {
  if (!context_.source_works()) return false;
  auto offer = next_offer(in_flight);
  if (!offer) return false;
  if (offer->input_error.empty()) {
    const auto broken = proposals_.add(offer->candidate);
    if (broken.empty()) {
      origins_[proposals_.size() - 1] = std::move(offer->origin);
      return true;
    }
    offer->input_error =
        fmt::format("here its own point breaks its constraint {}", fmt::join(broken, " and "));
  }
  refuse(std::move(*offer));
  return false;
}

/// Kept with its reason, but no evaluation: it counts towards no budget but that of its answer.
void SourceExchange::refuse(Offer offer) {
  Completed never;
  never.request = context_.request(std::move(offer.candidate), champion_.score_ns());
  never.result.outcome.status = Status::invalid_candidate;
  never.result.outcome.stage = StageId::pre_check;
  never.result.outcome.message = std::move(offer.input_error);
  const StoredEvaluation stored = record_.commit(never, {.arm = offer.origin.arm, .origin = &offer.origin});
  progress_.count_refused();
  context_.options.source->tell(never, stored.variant);
}

const Origin* SourceExchange::origin_of(const Flight& flight) const {
  const auto found = origins_.find(flight.item.proposal.template_index);
  return found == origins_.end() ? nullptr : &found->second;
}

void SourceExchange::tell(const Completed& completed, const Flight& flight, RowId variant) {
  if (context_.options.source == nullptr) {
    if (flight.item.proposal.is_start && origin_of(flight)) adopt(flight, variant);
    return;
  }
  if (!wants_profile(completed, flight)) return tell_source(completed, flight, variant);
  EvaluationRequest request = completed.request;
  request.profile = context_.options.profile;
  request.priority = 1;
  profiles_.emplace(context_.evaluator.submit(std::move(request)),
                    AwaitingProfile{completed, flight, variant});
}

/// A model should know what limits a kernel that it may be asked to improve.
bool SourceExchange::wants_profile(const Completed& completed, const Flight& flight) const {
  const EvaluationResult& result = completed.result;
  const auto best_ns = champion_.score_ns();
  const bool parent =
      flight.item.proposal.is_start || (result.score_ns && best_ns && *result.score_ns < *best_ns);
  return context_.options.profile && context_.capabilities.device.kind == DeviceKind::cuda &&
         context_.depth == Depth::time && parent && passed(result, context_.depth) && context_.source_works();
}

bool SourceExchange::take_profile(Completed& completed) {
  auto node = profiles_.extract(completed.ticket);
  if (node.empty()) return false;
  AwaitingProfile& awaiting = node.mapped();
  if (!inconclusive(completed.result)) record_.commit(completed, {.arm = "profile"});
  awaiting.completed.result.profiles = std::move(completed.result.profiles);
  tell_source(awaiting.completed, awaiting.flight, awaiting.variant);
  return true;
}

void SourceExchange::tell_source(const Completed& completed, const Flight& flight, RowId variant) {
  const Proposal& proposal = flight.item.proposal;
  if (inconclusive(completed.result) && !proposal.is_retry) return;  // it is tried again
  const bool written = proposal.is_start && origin_of(flight) != nullptr;
  if (written) adopt(flight, variant);
  const auto refused = written && is_promising(completed.result)
                           ? proposals_.search(proposal.template_index, completed.result.score_ns)
                           : std::nullopt;
  if (!refused) return context_.options.source->tell(completed, variant);
  Completed noted = completed;
  noted.result.outcome.diagnostics.push_back(
      {.severity = "note", .message = fmt::format("its tunables are not searched: {}", refused->message)});
  context_.options.source->tell(noted, variant);
}

bool SourceExchange::is_promising(const EvaluationResult& result) const {
  const double best_ns = champion_.score_ns().value_or(std::numeric_limits<double>::infinity());
  return context_.options.search_tunables && passed(result, context_.depth) && result.score_ns &&
         *result.score_ns <= kPromising * best_ns;
}

/// Points that a strategy chooses in it are made from its own point.
void SourceExchange::adopt(const Flight& flight, RowId variant) {
  origins_[flight.item.proposal.template_index] = {.proposer = "search", .arm = "", .parents = {variant}};
}

void SourceExchange::cancel() {
  for (const auto& [ticket, awaiting] : profiles_) context_.evaluator.cancel(ticket);
  profiles_.clear();
}

}  // namespace ak::agent
