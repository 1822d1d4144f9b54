// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/learn/stats.h"

namespace ak {

/// A tuned point that may be a member of a set.
struct SetCandidate {
  std::vector<double>
      times_ns;  ///< on every shape, those asked for first; infinite where it does not take one
  std::vector<double> estimated_ns;  ///< what its estimate says there; infinite as above
  bool takes_every_shape = true;     ///< may be the fallback
  /// Of the weights: candidates of one layout read the same copy. 0: it reads weights as they are.
  std::size_t layout = 0;
};

/// What a set may cost.
struct SetLimits {
  double mean_ratio =
      1.02;  ///< geometric mean over the shapes asked for of its time over the best known there
  double worst_ratio = 1.10;  ///< the same on one of them
  /// Geometric mean over the drawn shapes, which stand for all others: less, because estimates know
  /// their times: by cross-validation as below 1 % here is 1.7 % on shapes never seen, 2 % is 2.6 %.
  double drawn_ratio = 1.01;
  /// The same over shapes that nothing was timed on, by estimates alone. A set that is over it is within the limits all the
  /// same: estimates are off by more than this.
  double guessed_ratio = 1.01;
  /// Each is more code in one program. By cross-validation over 90 drawn shapes of gemm the best 12 of 102 points have
  /// 0.98 of PyTorch's speed on shapes never seen, of 16 1.01, of 24 and 32 1.02, of 48 1.03
  /// (experiments/results/2026-11-27_h200_gemm_points_wide); with more shapes to learn from all 32 are taken
  /// (2026-11-28_near_points).
  std::size_t max_members = 32;
  std::size_t max_layouts = 1;  ///< copies of prepared weights
};

/// A set is learned from so many shapes at most: a point is timed on all of them in some seconds, and by cross-validation
/// estimates from three quarters of 52 drawn ones choose within a percent of the best member.
inline constexpr std::size_t kMaxSetShapes = 64;

/// Shapes that a set is chosen on: first those asked for, then drawn ones that stand for all others, at last some more of
/// these that have estimates for times. Without them a set takes no member that none of a few drawn shapes needs: of 24
/// points of gemm, by cross-validation over 80 drawn shapes, sets learned from 10, 20 and 35 had 0.904, 0.960 and 0.977 of
/// PyTorch's speed on others; with 128 guessed shapes they have 0.943, 0.985 and 0.995
/// (experiments/results/2026-11-28_set_members).
struct SetShapes {
  std::vector<double> weights;  ///< of all
  std::size_t asked = 0;        ///< so many were asked for
  std::size_t guessed = 0;      ///< so many, the last, have no times but estimates
};

/// Members within this factor of the fastest on a shape are as good as it there: less says timing noise.
inline constexpr double kAlike = 1.005;

/// A shape asked for where another member is faster than that of the least estimate.
struct OwnRow {
  std::size_t shape = 0, member = 0;
  friend bool operator==(const OwnRow&, const OwnRow&) = default;
};

/// A set of candidates, and what the rule between them needs next to their estimates.
struct SetChoice {
  std::vector<std::size_t> members;             ///< candidates, ascending; what follows counts in this list
  std::vector<std::size_t> in_rows_alone = {};  ///< ascending: no estimate chooses these
  std::size_t fallback = 0;
  std::vector<OwnRow> rows;
  std::vector<std::size_t> chosen;         ///< by shape
  double mean_ratio = 1, worst_ratio = 1;  ///< of what the rule chooses on shapes asked for
  double drawn_ratio = 1;                  ///< geometric mean of the same on drawn ones
  double guessed_ratio = 1;                ///< and on those that have estimates alone
  bool within_limits = true;               ///< false: no set of so many members is
};

/// The smallest set that is within the limits by what its rule chooses: on shapes asked for a member that is as good as
/// the fastest, on others the member of the least estimate. Of sets of one size the fastest. All combinations are
/// looked at as long as they are few, else the best set of one member fewer is added to. Where none is within the limits,
/// those that choose well on drawn shapes, one of each size, are given members that serve shapes asked for in rows of
/// their own alone: they were measured there, and estimates that are wrong elsewhere do no harm.
/// @param candidates one at least takes every shape, and has a time on each
[[nodiscard]] SetChoice choose_set(const std::vector<SetCandidate>& candidates, const SetShapes& shapes,
                                   const SetLimits& limits);

/// How much slower choices are than the best that was there to choose.
struct SetRegret {
  double mean_ratio = 1;  ///< geometric mean of the chosen time over the best
  Interval interval;      ///< 95 % interval of it, bootstrap over shapes
  double worst_ratio = 1;
  std::size_t shapes = 0;
};
/// @param ratios chosen over best, one a shape, at least one
[[nodiscard]] SetRegret regret_of(const std::vector<double>& ratios);

}  // namespace ak
