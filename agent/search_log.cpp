// SPDX-License-Identifier: Apache-2.0
#include "agent/search_log.h"

namespace ak::agent {
namespace {

// A page that follows the database is as fresh as that, for one small transaction (chosen).
constexpr std::chrono::seconds kPoolInterval{3};

}  // namespace

SearchLog::SearchLog(const SearchContext& context)
    : context_(context),
      search_(context.store.begin_search(context.options.search, *context.options.problem,
                                         context.capabilities.device, context.options.arch)) {}

std::vector<std::vector<KnownPoint>> SearchLog::known_points() const {
  std::vector<std::vector<KnownPoint>> known;
  for (const Candidate& candidate : context_.options.templates)
    known.push_back(context_.store.known_points(search_, candidate.source_hash()));
  return known;
}

std::string SearchLog::proposer_of(const About& about) const {
  if (about.origin) return about.origin->proposer;
  return context_.options.source ? "search" : context_.options.search.proposer;
}

/// Nothing came of it yet where the evaluation said nothing: it is tried again.
const Hypothesis* SearchLog::hypothesis_of(const Completed& completed, const About& about) {
  if (!about.origin || !about.origin->hypothesis || inconclusive(completed.result)) return nullptr;
  return &*about.origin->hypothesis;
}

StoredEvaluation SearchLog::commit(const Completed& completed, const About& about) {
  const auto* item = about.item;
  const PredictedScore* predicted = about.predicted;
  if (predicted == nullptr && item && item->predicted) predicted = &*item->predicted;
  AskRecord asked;
  if (item)
    asked = {.member = item->proposal.member,
             .asked_ms = context_.elapsed_ms(item->proposal.asked),
             .ask_ns = item->proposal.ask_time.count()};
  return context_.store.commit({.search = search_,
                                .iteration = about.iteration ? *about.iteration : next_iteration(),
                                .proposer = proposer_of(about),
                                .arm = about.arm,
                                .parents = about.origin ? about.origin->parents : std::vector<RowId>{},
                                .request = &completed.request,
                                .result = &completed.result,
                                .predicted = predicted,
                                .device = about.device ? about.device : completed.result.device.get(),
                                .asked = item ? &asked : nullptr,
                                .llm_call = about.origin ? about.origin->llm_call : std::nullopt,
                                .hypothesis = hypothesis_of(completed, about)});
}

void SearchLog::note_told(RowId evaluation, std::chrono::steady_clock::time_point begin,
                          std::chrono::steady_clock::time_point end) {
  context_.store.note_told(evaluation, {.told_ms = context_.elapsed_ms(end),
                                        .tell_ns = std::chrono::nanoseconds(end - begin).count()});
}

void SearchLog::note_pool(bool last) {
  const auto now = context_.clock.now();
  if (!last && pool_noted_ && now - *pool_noted_ < kPoolInterval) return;
  pool_noted_ = now;
  const PoolReport report{.places = context_.evaluator.pool_places(),
                          .calibrations = context_.evaluator.take_calibrations()};
  if (!report.places.empty()) context_.store.note_pool(search_, report);
}

void SearchLog::end(std::string_view status, std::string_view reason, std::optional<RowId> best_variant) {
  context_.store.end_search(search_, status, reason, best_variant);
}

}  // namespace ak::agent
