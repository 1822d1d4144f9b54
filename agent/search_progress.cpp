// SPDX-License-Identifier: Apache-2.0
#include "agent/search_progress.h"

#include <algorithm>
#include <utility>

#include "agent/evaluate_one.h"
#include "core/error.h"

namespace ak::agent {
namespace {

constexpr int kMaxFailuresInARow =
    5;  // so many candidates do not meet a passing fault of the machine; chosen

}  // namespace

bool SearchProgress::should_stop(std::optional<double> best_ns, int in_flight) {
  stop_clock();
  spent_.best_ns = best_ns;
  if (const CandidateSource* source = context_.options.source) {
    spent_.tokens = source->tokens();
    spent_.cost_usd = source->cost_usd();
  }
  note_interrupt();
  Spent counted = spent_;
  // What a source may still write is in no space.
  if (result_.progress.gain && !context_.source_works()) counted.gain = result_.progress.gain->high;
  const bool first_is_due = counted.evaluations == 0 && (in_flight > 0 || !std::exchange(begun_, true));
  if (first_is_due || (context_.options.replaying && context_.options.replaying())) counted.wall = {};
  counted.headroom = headroom_of(best_ns, context_.options.limit_ns);
  const auto reached = budget_reached(context_.options.budgets, counted);
  if (reached && !result_.interrupted) {
    const auto& whole = context_.options.whole_budgets;
    result_.paused = result_.suspended = whole && !budget_reached(*whole, counted);
    result_.stop_reason = result_.paused ? "paused" : *reached;
  }
  return reached || result_.interrupted;
}

bool SearchProgress::note_interrupt() {
  if (context_.stop_requested()) {
    result_.interrupted = true;
    result_.stop_reason = "interrupted";
  }
  return result_.interrupted;
}

std::chrono::steady_clock::time_point SearchProgress::wait_deadline() const {
  const auto now = context_.clock.now();
  const auto poll = now + kPollInterval;
  const auto& max_wall = context_.options.budgets.max_wall;
  const bool stops_later = max_wall && context_.start + *max_wall > now;  // else the first answer is awaited
  return stops_later ? std::min(poll, context_.start + *max_wall) : poll;
}

void SearchProgress::count(const EvaluationResult& result) {
  account(spent_, result);
  stop_clock();
}

void SearchProgress::count_failures(const EvaluationResult& result) {
  failures_in_a_row_ = inconclusive(result) ? failures_in_a_row_ + 1 : 0;
  if (failures_in_a_row_ < kMaxFailuresInARow) return;
  fail(ExitCode::environment, "{} evaluations in a row ended without a verdict; the last one: {}",
       failures_in_a_row_, result.outcome.message);
}

void SearchProgress::report(const Completed& completed, bool new_best, int in_flight,
                            const Champion& champion) {
  Progress& progress = result_.progress;
  const bool good = passed(completed.result, context_.depth);
  ++progress.evaluated;
  ++(good ? progress.verified : progress.failed);
  progress.compilations = static_cast<int>(spent_.compilations);
  progress.duplicates += completed.result.outcome.status == Status::duplicate;
  progress.in_flight = in_flight;
  take_best(champion);
  take_spending();
  progress.elapsed_s = elapsed_s();
  if (good && context_.depth != Depth::build && !progress.first_verified_s)
    progress.first_verified_s = progress.elapsed_s;
  progress.last = &completed;
  if (context_.options.on_progress) context_.options.on_progress(progress);
  progress.last = nullptr;
  if (new_best && context_.options.on_new_best)
    context_.options.on_new_best(*champion.best(), champion.predicted());
}

void SearchProgress::take_best(const Champion& champion) {
  Progress& progress = result_.progress;
  progress.best_ns = champion.score_ns();
  progress.best_predicted_ns.reset();
  if (champion.predicted()) progress.best_predicted_ns = champion.predicted()->score.value();
}

void SearchProgress::take_spending() {
  const CandidateSource* source = context_.options.source;
  if (source == nullptr) return;
  Progress& progress = result_.progress;
  progress.calls = source->calls();
  progress.tokens = source->tokens();
  progress.cost_usd = source->cost_usd();
  progress.price_known = source->price_known();
}

void SearchProgress::report_wait() {
  if (!context_.options.on_wait) return;
  stop_clock();
  take_spending();
  result_.progress.elapsed_s = elapsed_s();
  context_.options.on_wait(result_.progress);
}

void SearchProgress::finish(const Champion& champion) {
  Progress& progress = result_.progress;
  progress.in_flight = 0;
  take_spending();
  if (const CandidateSource* source = context_.options.source) {
    result_.source_end = source->end_reason();
    result_.source_never_answered = source->never_answered();
  }
  progress.elapsed_s = elapsed_s();
  take_best(champion);
}

}  // namespace ak::agent
