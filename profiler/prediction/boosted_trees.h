// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/learn/tree_grower.h"
#include "core/text/json.h"

namespace ak::profiler {

/// Values by name. A name that is absent, and NaN, mean "not known".
using Features = std::map<std::string, double, std::less<>>;

/// What trees are fitted to: one vector of features, one target and one weight a row.
struct RegressionSet {
  std::vector<const Features*> features;  ///< not owned
  std::vector<double> targets, weights;   ///< of equal length; weights > 0
};

struct BoostingOptions {
  int rounds = 300;
  int depth = 4;                ///< splits from root to leaf
  double learning_rate = 0.08;  ///< share of a tree's correction that is applied
  double smallest_leaf = 6;     ///< weight, in rows of weight 1
  double leaf_l2 = 3;           ///< weight of the prior that a leaf is zero
  double row_share = 0.7;       ///< of rows that a tree sees
  double column_share = 0.4;    ///< of features that a tree may split on
  std::uint64_t seed = 0x5eed;  ///< the same set and seed give the same trees
};

/// Gradient boosted regression trees with squared loss (Friedman, Greedy Function Approximation: A Gradient
/// Boosting Machine, 2001). A row whose feature is not known takes the side that fitted best. Outside the
/// range of what they were fitted to, trees are constant. Immutable once fitted; threads may share it.
class BoostedTrees {
 public:
  BoostedTrees() = default;  ///< predicts 0
  [[nodiscard]] static BoostedTrees fit(const RegressionSet& set, const BoostingOptions& options);
  [[nodiscard]] double predict(const Features& features) const;

  [[nodiscard]] Json to_json() const;
  /// Throws Error(bad_input) that says what was expected.
  [[nodiscard]] static BoostedTrees from_json(const Json& json);

 private:
  struct Node {
    int column = -1;  ///< -1: a leaf
    double threshold = 0;
    bool unknown_left = true;
    int left = 0, right = 0;
    double value = 0;  ///< of a leaf
  };
  using Tree = std::vector<Node>;  ///< root first
  /// With edges of levels, by column, and answers as far as they are applied.
  [[nodiscard]] static Tree scaled(const RegressionTree& grown, const std::vector<std::vector<double>>& edges,
                                   double learning_rate);
  [[nodiscard]] static double predict(const Tree& tree, std::span<const double> row);
  void check() const;
  std::vector<std::string> columns_;
  std::vector<Tree> trees_;
};

}  // namespace ak::profiler
