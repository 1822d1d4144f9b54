// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/learn/stats.h"
#include "core/sets/rule_learning.h"

namespace ak {

/// A tuned point that may be a member of a set.
struct SetCandidate {
  std::vector<double>
      times_ns;  ///< on every shape, those asked for first; infinite where it does not take one
  bool takes_every_shape = true;  ///< may be the fallback
  /// Of the weights: candidates of one layout read the same copy. 0: it reads weights as they are.
  std::size_t layout = 0;
};

/// What a set may cost.
struct SetLimits {
  double mean_ratio =
      1.02;  ///< geometric mean over the shapes asked for of its time over the best known there
  double worst_ratio = 1.10;  ///< the same on one of them
  double drawn_ratio = 1.05;  ///< geometric mean over the drawn shapes; chosen: nobody asked for these sizes
  std::size_t max_members = 8;  ///< each is more code in one program; chosen
  std::size_t max_layouts = 1;  ///< copies of prepared weights
};

/// Shapes that a set is chosen on: first those asked for, then drawn ones that stand for all others.
struct SetShapes {
  std::vector<double> weights;  ///< of all
  std::size_t asked = 0;        ///< so many were asked for
};

/// A set of candidates and a rule between them.
struct SetChoice {
  std::vector<std::size_t> members;  ///< candidates, ascending; the rule counts in this list
  SetRule rule;
  double mean_ratio = 1, worst_ratio = 1;  ///< of what the rule chooses on shapes asked for
  double drawn_ratio = 1;                  ///< geometric mean of the same on drawn ones
  bool within_limits = true;               ///< false: no set of so many members is
};

/// The smallest set within the limits; of sets of one size the one with the shortest rule, then the fastest. All
/// combinations are looked at as long as they are few, else the best set of one member fewer is added to.
/// @param candidates one at least takes every shape, and has a time on each
[[nodiscard]] SetChoice choose_set(const std::vector<SetCandidate>& candidates,
                                   const std::vector<RuleQuantity>& quantities, const SetShapes& shapes,
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
