// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace ak {

/// A feature of all rows, by level: the rank of the value, or of the bin that holds it.
struct TreeColumn {
  static constexpr std::uint32_t kUnknown = 0xffffffff;  ///< of a row whose value is not known
  std::vector<std::uint32_t> levels;                     ///< by row, below `extent` or unknown
  std::size_t extent = 0;
};

/// What a tree is to answer for a row, or for several rows together.
struct TreeTarget {
  double sum = 0;     ///< of value times weight
  double weight = 0;  ///< above 0
};

/// Loss: the squared error, and the square of a leaf's answer times `leaf_l2`.
struct TreeGrowthOptions {
  int depth = std::numeric_limits<int>::max();  ///< maximum number of splits from root to leaf
  std::size_t min_rows = 2;                     ///< a node with fewer is a leaf
  double min_leaf_weight = 1;                   ///< above 0
  double leaf_l2 = 0;
  double min_gain = 0;  ///< a split that lowers the loss by less is not made
  /// Returns the one threshold to try in a column of a node, as a number in [0, count): the lowest level of the node's
  /// rows is 0. Absent: every threshold is tried. Nodes ask in their order in the tree, and for each column in turn.
  std::function<std::size_t(std::size_t count)> choose_threshold;
};

/// Which rows of a node go left.
struct TreeSplit {
  std::size_t column = 0;
  std::size_t max_left = 0;  ///< those of at most this level
  bool unknown_left = true;  ///< and those whose level is not known
  [[nodiscard]] bool goes_left(std::size_t level) const {
    return level == TreeColumn::kUnknown ? unknown_left : level <= max_left;
  }
};

struct RegressionNode {
  TreeSplit split;
  std::uint32_t left = 0, right = 0;  ///< nodes of the same tree; 0: a leaf
  std::size_t rows = 0;               ///< that it was grown from
  double answer = 0;                  ///< what a leaf answers: sum / (weight + leaf_l2)
  [[nodiscard]] bool is_leaf() const { return left == 0; }
};

/// Root first; there is one. The left child of a node is the next.
using RegressionTree = std::vector<RegressionNode>;

/// The leaf of a row whose level in a column `level_of(column)` says.
template <typename LevelOf>
[[nodiscard]] const RegressionNode& leaf_of(const RegressionTree& tree, LevelOf level_of) {
  const RegressionNode* node = tree.data();
  while (!node->is_leaf())
    node = &tree[node->split.goes_left(level_of(node->split.column)) ? node->left : node->right];
  return *node;
}

/// Grows regression trees greedily: each node is split where the loss falls most (Breiman, Friedman, Olshen and Stone,
/// Classification and Regression Trees, 1984). Of equal splits the first counts: by column, then by threshold, then
/// with the unknown on the left. Used by one thread.
class TreeGrower {
 public:
  TreeGrower(std::vector<TreeColumn> columns, TreeGrowthOptions options);

  /// Grows a tree from `rows`, split by `columns` only. `targets` has one entry for every row of the columns.
  [[nodiscard]] RegressionTree grow(std::span<const TreeTarget> targets, std::vector<std::size_t> rows,
                                    std::span<const std::size_t> columns);
  [[nodiscard]] const std::vector<TreeColumn>& columns() const { return columns_; }

 private:
  using Rows = std::span<std::size_t>;
  struct BestSplit {
    TreeSplit split;
    double explained = -1;  ///< by both sides; negative: there is none
  };
  struct LevelSums {
    std::size_t lowest = 0, highest = 0;  ///< known levels
    TreeTarget unknown;
  };
  std::uint32_t grow_node(Rows rows, int depth);
  [[nodiscard]] BestSplit best_split(Rows rows, const TreeTarget& total);
  /// Leaves the sum of each level in sums_.
  [[nodiscard]] LevelSums sum_levels(const TreeColumn& column, Rows rows);
  void consider(const TreeSplit& split, const TreeTarget& left, const TreeTarget& total,
                BestSplit& best) const;
  /// What the loss falls by when the rows get their answer.
  [[nodiscard]] double explained(const TreeTarget& target) const {
    return target.sum * target.sum / (target.weight + options_.leaf_l2);
  }

  std::vector<TreeColumn> columns_;
  TreeGrowthOptions options_;
  std::span<const TreeTarget> targets_;    ///< of the tree that grows, as all below
  std::span<const std::size_t> eligible_;  ///< columns
  RegressionTree tree_;
  std::vector<TreeTarget> sums_;  ///< by level of a column
};

}  // namespace ak
