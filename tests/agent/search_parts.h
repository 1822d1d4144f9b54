// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "agent/champion.h"
#include "agent/proposal_schedule.h"
#include "agent/search_log.h"
#include "agent/search_progress.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent::test {

/// The parts that the others are given, over a world.
struct SearchParts {
  explicit SearchParts(World& world)
      : context(world.options, world.device, world.store, world.clock),
        proposals(world.options, context.capabilities.device, world.clock),
        champion(context.depth, context.capabilities.device.kind == DeviceKind::cuda),
        record(context),
        progress(context, result),
        schedule(context, proposals, record, progress) {}

  /// Commits an evaluation that ended and offers it to the champion.
  OfferResult offer(Completed completed, int iteration) {
    const StoredEvaluation stored = record.commit(completed, {.arm = "start", .iteration = iteration});
    return champion.offer(completed, iteration, stored.variant);
  }

  SearchContext context;
  LoopResult result;
  Proposals proposals;
  Champion champion;
  SearchLog record;
  SearchProgress progress;
  ProposalSchedule schedule;
};

/// The result of every evaluation where only their number matters.
[[nodiscard]] inline EvaluationResult same_result(const EvaluationRequest&) { return timed(1'000); }

/// An evaluation of the first template's point (x, 0).
[[nodiscard]] inline Completed completed_at(const SearchContext& context, std::int64_t x,
                                            EvaluationResult result) {
  Candidate candidate = context.options.templates.front();
  candidate.tunables["X"] = x;
  return {.ticket = 1, .request = context.request(std::move(candidate), {}), .result = std::move(result)};
}

/// Offers what it was given, and keeps the results that it receives.
struct ListSource final : CandidateSource {
  void begin(RowId, VariantStore&) override {}
  std::optional<Offer> poll(bool, std::int64_t) override {
    if (offers.empty()) return std::nullopt;
    Offer offer = std::move(offers.front());
    offers.pop_front();
    return offer;
  }
  void tell(const Completed& completed, RowId variant) override { told.emplace_back(completed, variant); }
  bool working() const override { return works; }
  bool resting() const override { return rests; }
  void wait(std::chrono::milliseconds) override {}
  void stop(std::string_view) override { works = false; }
  void suspend() override { works = false; }
  std::int64_t tokens() const override { return used_tokens; }
  double cost_usd() const override { return 0.5; }
  std::string end_reason() const override { return ""; }

  std::deque<Offer> offers;
  std::vector<std::pair<Completed, RowId>> told;
  bool works = true, rests = false;
  std::int64_t used_tokens = 0;
};

}  // namespace ak::agent::test
