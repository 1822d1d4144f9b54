// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

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
  /// Of each template (candidate name) so many that passed are kept to follow a champion that is
  /// disqualified: enough for a mistake at some points, and a template that is wrong at all does not crowd
  /// out the others.
  static constexpr int kKeptOfTemplate = 8;

  explicit Champion(Depth depth) : depth_(depth) {}

  /// Keeps a copy when `challenger` takes the lead; says whether it did.
  /// @param iteration number of the proposal, for ties between builds
  bool offer(const Completed& challenger, int iteration, RowId variant);

  /// Takes the champion out of the running. Of those kept the one with the lowest score leads now; without
  /// scores the earliest.
  void disqualify();

  /// Null when there is none; valid until the next offer() or disqualify().
  [[nodiscard]] const Completed* best() const { return best_ ? &best_->completed : nullptr; }
  [[nodiscard]] std::optional<RowId> variant() const;
  [[nodiscard]] std::optional<double> score_ns() const;

 private:
  struct Entry {
    Completed completed;
    int iteration;
    RowId variant;
  };
  [[nodiscard]] static bool lower_score(const Entry& a, const Entry& b);
  [[nodiscard]] bool beats(const Completed& challenger, int iteration) const;
  void keep(const Entry& entry);

  Depth depth_;
  std::optional<Entry> best_;
  std::vector<Entry> ranking_;  ///< the champion and what may follow it, best first
};

}  // namespace ak::agent
