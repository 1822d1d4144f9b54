// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "agent/budgets.h"
#include "agent/champion.h"
#include "agent/search_context.h"

namespace ak::agent {

/// How far a search has come: what it has spent, whether it has to stop and why, and what is reported of it
/// after every evaluation. One thread.
class SearchProgress {
 public:
  /// Both must outlive it; the progress, the stop reason and whether there was an interrupt go into `result`.
  SearchProgress(const SearchContext& context, LoopResult& result) : context_(context), result_(result) {}

  [[nodiscard]] const Spent& spent() const { return spent_; }

  /// True when a budget is used up or someone asked to stop. Wall time stops no search before its first answer: one that
  /// was used up by compiling headers would leave nothing at all.
  /// @param best_ns score of the champion @param in_flight evaluations that are awaited
  [[nodiscard]] bool should_stop(std::optional<double> best_ns, int in_flight = 0);
  /// Takes a request to stop into the result; true when there is or was one.
  bool note_interrupt();
  /// The wall time until now is the search's.
  void stop_clock() { spent_.wall = context_.clock.now() - context_.start; }
  /// How long an event may be waited for.
  [[nodiscard]] std::chrono::steady_clock::time_point wait_deadline() const;

  /// An evaluation has ended.
  void count(const EvaluationResult& result);
  /// One more evaluation since one took the lead, or it took the lead itself.
  void count_gain(bool new_best) { spent_.since_gain = new_best ? 0 : spent_.since_gain + 1; }
  /// What the templates' spaces still hold; nothing: not known.
  void note_gain(const std::optional<RemainingGain>& gain) { result_.progress.gain = gain; }
  /// Throws Error(environment) when too many evaluations in a row said nothing about their candidate.
  void count_failures(const EvaluationResult& result);
  void count_pruned() { ++result_.progress.pruned; }
  void count_refused() { ++result_.progress.refused; }

  /// Tells the caller of an evaluation, and of a new champion.
  void report(const Completed& completed, bool new_best, int in_flight, const Champion& champion);
  /// Reports what the source has used until now.
  void report_wait();
  /// The last figures.
  void finish(const Champion& champion);

 private:
  void take_spending();
  void take_best(const Champion& champion);
  [[nodiscard]] double elapsed_s() const { return std::chrono::duration<double>(spent_.wall).count(); }

  const SearchContext& context_;
  LoopResult& result_;
  Spent spent_;
  bool begun_ = false;  ///< it was asked once whether to stop
  int failures_in_a_row_ = 0;
};

}  // namespace ak::agent
