// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "agent/loop.h"

namespace ak::agent {

/// Shapes of one search that no candidate was searched with, and the evaluation of candidates on them.
class HeldOutShapes {
 public:
  /// Draws shapes and inputs with `options.held_out_seed`, or else with the operating system's randomness.
  /// `options` and `evaluator` must outlive this.
  HeldOutShapes(const LoopOptions& options, Evaluator& evaluator);

  [[nodiscard]] int count() const { return static_cast<int>(request_.workloads.size()); }
  /// The shapes in words: "held_out_1: N=77; held_out_2: N=1000".
  [[nodiscard]] const std::string& text() const { return request_.tag; }

  /// Checks `candidate` on all of them. Nothing when it did not end before `deadline` or before a stop was
  /// requested; it is cancelled then.
  [[nodiscard]] std::optional<Completed> check(const Candidate& candidate, const Clock& clock,
                                               std::chrono::steady_clock::time_point deadline);

 private:
  const LoopOptions& options_;
  Evaluator& evaluator_;
  EvaluationRequest request_;  ///< except for the candidate
};

}  // namespace ak::agent
