// SPDX-License-Identifier: Apache-2.0
#include "agent/challenges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/evaluate_one.h"
#include "agent/paired_comparison.h"

namespace ak::agent {
namespace {

constexpr auto kComparisonTime = std::chrono::seconds(30);  // for a handful of pairs at the end; chosen

}  // namespace

void Challenges::start() {
  if (comparison_) return;
  const Completed* challenger = champion_.next_challenger();
  if (challenger == nullptr) return;
  EvaluationRequest request = challenger->request;
  request.rival = std::make_shared<const Candidate>(champion_.best()->request.candidate);
  request.tag = fmt::format("{}", *champion_.variant());  // what the view `comparisons` shows
  request.priority = 1;
  comparison_ = context_.evaluator.submit(std::move(request));
}

bool Challenges::take(Completed& completed) {
  if (completed.ticket != comparison_) return false;
  comparison_.reset();
  EvaluationResult& result = completed.result;
  const auto verdict = judge_pairs(completed);
  if (verdict) result.outcome.message = verdict->text();
  if (result.rival_failed) name_the_rival(completed);
  if (!inconclusive(result)) record_.commit(completed, {.arm = "comparison"});
  if (settle(result, verdict) && champion_.best()) {
    progress_.count_gain(true);
    if (context_.options.on_new_best) context_.options.on_new_best(*champion_.best(), champion_.predicted());
  }
  return true;
}

/// What a comparison means for the lead: true when another has it now.
bool Challenges::settle(const EvaluationResult& result, const std::optional<PairedVerdict>& verdict) {
  if (!info(result.outcome.status).candidate_fault) return champion_.settle(verdict);
  if (!result.rival_failed) {
    champion_.disqualify_challenger();
    return false;
  }
  static_cast<void>(champion_.settle(std::nullopt));
  champion_.disqualify();
  return true;
}

void Challenges::settle_rest(bool may_race) {
  const auto deadline = context_.clock.now() + kComparisonTime;
  if (!settle_until(deadline) || !may_race || progress_.note_interrupt()) return;
  champion_.race();
  static_cast<void>(settle_until(deadline));
}

bool Challenges::settle_until(std::chrono::steady_clock::time_point deadline) {
  for (start(); comparison_; start()) {
    const bool interrupted = progress_.note_interrupt();
    auto completed = context_.evaluator.wait_any(std::min(deadline, context_.clock.now() + kPollInterval));
    if (completed) static_cast<void>(take(*completed));
    if (!comparison_ || (context_.clock.now() < deadline && !interrupted)) continue;
    context_.evaluator.cancel(*comparison_);
    comparison_.reset();
    return false;
  }
  return true;
}

}  // namespace ak::agent
