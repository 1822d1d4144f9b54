// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/learn/stats.h"

namespace ak {

/// Two times, or two costs, of what is the same except for the one thing that is compared. Both positive.
struct NumberPair {
  double first = 0, second = 0;
};

/// Fewest pairs with which a two-sided test by signs or ranks can give a p below 1 %: 2 / 2^8.
inline constexpr std::size_t kMinPairs = 8;
/// Pairs nearer than this are ties: below it timer resolution decides.
inline constexpr double kTieRatio = 0.005;

/// What pairs say of second over first. Less is better: the second wins where its number is lower.
struct PairedTest {
  std::size_t pairs = 0, wins = 0, losses = 0, ties = 0;  ///< of the second
  double ratio = 1;                                       ///< geometric mean of second over first
  Interval interval;                                      ///< 99 % interval of it, bootstrap over pairs
  double sign_p = 1;                                      ///< two-sided exact sign test, ties left out
  double wilcoxon_p = 1;  ///< two-sided signed-rank test on the logarithms; exact up to 200 pairs
  /// The interval leaves out 1 and the signed-rank test is below 1 %.
  [[nodiscard]] bool beyond_chance() const;
};

/// The same pairs always give the same answer. Nothing without pairs.
[[nodiscard]] std::optional<PairedTest> test_pairs(std::span<const NumberPair> pairs);

/// Two-sided exact p of so many wins and losses where each is as likely as the other.
[[nodiscard]] double sign_test(std::size_t wins, std::size_t losses);

/// Two-sided p of the signed-rank test (Wilcoxon, "Individual Comparisons by Ranking Methods", 1945) that
/// differences lie about zero. Zeros are left out; equal sizes share their ranks.
[[nodiscard]] double signed_rank_test(std::span<const double> differences);

}  // namespace ak
