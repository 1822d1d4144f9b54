// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pruning.h"
#include "agent/search_context.h"

namespace ak::agent {

/// What the store keeps of one search: its own row, and one for every evaluation in the order of their
/// numbers. One thread. Its functions throw Error(database).
class SearchLog {
 public:
  /// Begins the search. `context` must outlive this.
  explicit SearchLog(const SearchContext& context);

  [[nodiscard]] RowId search() const { return search_; }
  /// What earlier searches know of each of the templates.
  [[nodiscard]] std::vector<std::vector<KnownPoint>> known_points() const;
  /// The number of the next evaluation.
  [[nodiscard]] int next_iteration() { return iterations_++; }

  /// How an evaluation came about.
  struct About {
    std::string arm;
    std::optional<int> iteration = {};          ///< nothing: the next
    const PredictedProposal* item = nullptr;    ///< null: no strategy and no template proposed it
    const PredictedScore* predicted = nullptr;  ///< after the evaluation; null: what `item` has
    const Origin* origin = nullptr;             ///< null: the search's own
    const DeviceFacts* device = nullptr;        ///< null: the search's
  };
  StoredEvaluation commit(const Completed& completed, const About& about);
  /// As VariantStore::together.
  void together(const std::function<void()>& commits) { context_.store.together(commits); }
  /// The strategy took an evaluation in, from `begin` to `end`.
  void note_told(RowId evaluation, std::chrono::steady_clock::time_point begin,
                 std::chrono::steady_clock::time_point end);

  /// What the search could still gain after so many evaluations. @param best_ns what ranks best
  void note_gain(std::int64_t evaluations, double best_ns, const RemainingGain& gain) {
    context_.store.note_gain(search_, {.evaluations = evaluations, .best_ns = best_ns, .gain = gain});
  }

  /// What the devices of a pool do, now and then; `last`: now. Nothing where there is no pool.
  void note_pool(bool last = false);

  /// Ends the search. @param status "finished", "stopped", "suspended" or "failed"
  void end(std::string_view status, std::string_view reason, std::optional<RowId> best_variant);

 private:
  [[nodiscard]] std::string proposer_of(const About& about) const;
  [[nodiscard]] static const Hypothesis* hypothesis_of(const Completed& completed, const About& about);

  const SearchContext& context_;
  RowId search_;
  int iterations_ = 0;
  std::optional<std::chrono::steady_clock::time_point> pool_noted_;
};

}  // namespace ak::agent
