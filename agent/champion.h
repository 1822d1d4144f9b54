// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/evaluation.h"
#include "core/store.h"

namespace ak::agent {

/// True when the candidate did all that `depth` asks: built, passed every check, was timed. A duplicate
/// passes when it carries what the earlier evaluation of the same kernel found.
[[nodiscard]] bool passed(const EvaluationResult& result, Depth depth);

/// The best candidate so far.
///
/// - Depth::time: lowest score. A challenger must be at least 0.5 % faster, and its 95 % interval must lie
/// below the
///   champion's (both as weighted geometric means over the timed workloads). This is the interim rule for
///   candidates that were timed at different moments; timing the two in pairs will replace it.
/// - Depth::check: the first that passed.
/// - Depth::build: no spills before spills, then higher occupancy, then fewer registers, then proposed
/// earlier; so the
///   order in which builds end does not matter.
class Champion {
 public:
  explicit Champion(Depth depth) : depth_(depth) {}

  /// Keeps a copy when `challenger` takes the lead; says whether it did.
  /// @param iteration number of the proposal, for ties between builds
  bool offer(const Completed& challenger, int iteration, RowId variant);

  [[nodiscard]] const std::optional<Completed>& best() const { return best_; }
  [[nodiscard]] std::optional<RowId> variant() const { return variant_; }
  [[nodiscard]] std::optional<double> score_ns() const;

 private:
  [[nodiscard]] bool beats(const Completed& challenger, int iteration) const;

  Depth depth_;
  std::optional<Completed> best_;
  std::optional<RowId> variant_;
  int iteration_ = 0;
};

}  // namespace ak::agent
