// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "agent/paired_comparison.h"
#include "core/evaluation.h"
#include "core/store.h"

namespace ak::agent {

/// True when the candidate did all that `depth` asks: built, passed every check, was timed. A duplicate
/// passes when it carries what the earlier evaluation of the same kernel found.
[[nodiscard]] bool passed(const EvaluationResult& result, Depth depth);

/// The result of an offer.
enum class OfferResult : std::uint8_t {
  behind,
  challenges,  ///< seems faster than the champion; the two are to be timed in pairs
  leads
};

/// The best candidate so far.
///
/// - Depth::time: lowest score. Where times are noisy, a challenger whose score is 0.5 % lower must also
///   win when the two are timed in pairs (docs/search.md); where costs are exact it leads at once.
/// - Depth::time, of candidates whose times on the target are predicted: the lowest predicted time; of those
///   whose predicted time lies within its interval, the lowest score. What is not predicted comes last.
/// - Depth::check: the first that passed.
/// - Depth::build: no spills before spills, then higher occupancy, then fewer registers, then proposed
///   earlier, so that the order in which builds end does not matter.
class Champion {
 public:
  /// Of each template (candidate name) so many that passed are kept to follow a champion that is
  /// disqualified: enough for a mistake at some points, and a template that is wrong at all does not crowd
  /// out the others.
  static constexpr int kKeptOfTemplate = 8;
  /// A comparison takes a few seconds, and the fastest is hardly ever further behind (chosen).
  static constexpr std::size_t kMaxRaced = 5;

  /// @param noisy times of this device are measured, not computed
  Champion(Depth depth, bool noisy) : depth_(depth), noisy_(noisy && depth == Depth::time) {}

  /// Keeps a copy of what passed.
  /// @param iteration number of the proposal, for ties between builds
  /// @param predicted of its times on the target, where that is what ranks
  OfferResult offer(const Completed& candidate, int iteration, RowId variant,
                    std::optional<PredictedScore> predicted = {});

  /// The search has ended and no challenge is left: the first kMaxRaced of those that follow the champion so closely that
  /// their times cannot tell them apart challenge it, too, and lead where they are likely to be faster. One may have been
  /// unlucky in the only time that was taken of it, or too noisy to win beyond doubt.
  void race();

  /// The fastest of those that challenge the champion, or null; those that no longer seem faster are
  /// forgotten, but not those of race(). It stays the one to settle until settle(). Valid until then.
  [[nodiscard]] const Completed* next_challenger();
  /// Ends the challenge of the last next_challenger(). @param verdict of timing it in pairs with the
  /// champion; nothing: it came to none. True when it leads now.
  bool settle(const std::optional<PairedVerdict>& verdict);

  /// Ends the challenge of a candidate that was found wrong: it will never lead.
  void disqualify_challenger();

  /// The champion's results are these from now on: it was measured again.
  void replace_result(EvaluationResult result);

  /// Takes the champion out of the running. Of those kept the best by the same rules leads now; without
  /// scores the earliest.
  void disqualify();

  /// Null when there is none; valid until the next call that is not const.
  [[nodiscard]] const Completed* best() const { return best_ ? &best_->completed : nullptr; }
  [[nodiscard]] std::optional<RowId> variant() const;
  /// What is predicted of the champion; null: nothing.
  [[nodiscard]] const PredictedScore* predicted() const;
  /// One that passed.
  struct Entry {
    Completed completed;
    int iteration;
    RowId variant;
    std::optional<PredictedScore> predicted = {};
    bool raced = false;  ///< it challenges whatever its time was
  };
  /// The champion and what may follow it, best first; valid until the next call that is not const.
  [[nodiscard]] const std::vector<Entry>& ranking() const { return ranking_; }
  /// By the latest and most careful measurement, which may not be the one in best().
  [[nodiscard]] std::optional<double> score_ns() const;

 private:
  [[nodiscard]] static bool faster(const Entry& a, const Entry& b);
  [[nodiscard]] const Entry& first_of_ranking() const;
  [[nodiscard]] bool seems_faster(const Entry& entry) const;
  [[nodiscard]] bool is_settled(const Entry& entry) const;
  [[nodiscard]] bool may_be_faster(const Entry& entry) const;
  [[nodiscard]] bool beats(const Entry& entry) const;
  void lead(Entry entry);
  void keep(const Entry& entry);

  Depth depth_;
  bool noisy_;
  std::optional<Entry> best_;
  std::optional<double> score_ns_;  ///< the champion's
  std::vector<Entry> challengers_;  ///< fastest first
  std::optional<Entry> contender_;  ///< of them the one that is being timed in pairs
  std::set<int> beaten_;  ///< iterations of those that were slower in pairs beyond noise, or failed there
  std::vector<Entry> ranking_;  ///< the champion and what may follow it, best first
};

}  // namespace ak::agent
