// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ak::app {

/// A point with what it took.
struct TreeSample {
  std::map<std::string, double> features;
  double log_time = 0;  ///< natural logarithm of its time over the best of its problem
};

/// Which features decide how fast points are: a regression tree by variance reduction (Breiman, Friedman,
/// Olshen and Stone, "Classification and Regression Trees", 1984), of three levels at most, with five samples
/// in a leaf at least.
struct TreeNode {
  std::size_t samples = 0;
  double mean_log_time = 0;
  std::string feature;  ///< of the split: samples with at most `threshold` go to `low`; empty in a leaf
  double threshold = 0;
  std::unique_ptr<TreeNode> low, high;
};
[[nodiscard]] TreeNode fit_tree(std::span<const TreeSample> samples);

/// As a nested Markdown list; every node says how many times as long as the best known its points take.
[[nodiscard]] std::string tree_markdown(const TreeNode& root);

}  // namespace ak::app
