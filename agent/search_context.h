// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "agent/loop.h"

namespace ak::agent {

/// What the parts of one search share. Whatever it refers to outlives them.
struct SearchContext {
  SearchContext(const LoopOptions& options, Evaluator& evaluator, VariantStore& store, const Clock& clock);

  [[nodiscard]] bool stop_requested() const {
    return options.stop_requested != nullptr && options.stop_requested->load();
  }
  [[nodiscard]] bool source_works() const { return options.source != nullptr && options.source->working(); }
  /// Evaluates `candidate` as far as this search goes.
  [[nodiscard]] EvaluationRequest request(Candidate candidate, std::optional<double> champion_score_ns) const;
  /// Since the search began, in whichever process that was.
  [[nodiscard]] double elapsed_ms(std::chrono::steady_clock::time_point time) const;

  const LoopOptions& options;
  Evaluator& evaluator;
  VariantStore& store;
  const Clock& clock;
  const EvaluatorCapabilities capabilities;
  const Depth depth;  ///< that can be reached here
  const std::chrono::steady_clock::time_point start;
};

/// The evaluation says nothing about the candidate.
[[nodiscard]] bool inconclusive(const EvaluationResult& result);

/// It says something against the candidate, and not only that a device which is there to examine it cannot run it, or not
/// in time. @param is_smaller  it has fewer multiprocessors than the device that the candidate is for: what it has no room for
/// is no fault
[[nodiscard]] bool is_verdict_of_examiner(const Outcome& outcome, bool is_smaller);

/// How an evaluation ended, for people: "incorrect: ...".
[[nodiscard]] std::string words(const Outcome& outcome);

}  // namespace ak::agent
