// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/proposals.h"
#include "core/predictor.h"

namespace ak::agent {

/// A proposal and what is predicted of it; nothing where there is no basis.
struct PredictedProposal {
  Proposal proposal;
  std::optional<PredictedScore> predicted;
};

/// Takes the proposals of a search in the order of their predicted times and says which are hopeless. Without
/// a predictor it hands them on as they come. Used by one thread.
class Pruning {
 public:
  /// So many candidates are measured in a run before any is pruned (chosen: the 5 % quantile of fewer
  /// errors says nothing).
  static constexpr std::size_t kMeasuredFirst = 20;
  /// Every so many-th candidate is taken in turn and measured whatever is predicted, so that the
  /// model stays honest.
  static constexpr int kMeasureAnywayEvery = 10;
  /// So many proposals are looked at to choose the next from.
  static constexpr std::size_t kWindow = 32;

  /// `options` and `proposals` must outlive this.
  Pruning(const LoopOptions& options, Proposals& proposals) : options_(options), proposals_(proposals) {}

  /// What to evaluate or to prune next.
  struct Next {
    PredictedProposal item;
    std::string why_pruned;  ///< why it is not worth measuring, in words; empty: measure it
  };
  /// @param best_ns score of the champion
  [[nodiscard]] std::optional<Next> next(std::optional<double> best_ns);
  /// A candidate was measured.
  void learn(const PredictedScore& predicted, double measured_ns);

 private:
  void look_ahead();
  [[nodiscard]] std::string why_pruned(const PredictedScore& predicted, std::optional<double> best_ns) const;

  const LoopOptions& options_;
  Proposals& proposals_;
  std::deque<PredictedProposal> waiting_;  ///< in the order in which they were proposed
  std::vector<double> errors_;             ///< ln(measured / predicted) in this run, ascending
  int taken_ = 0;
};

}  // namespace ak::agent
