// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/decision_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/learn/tree_grower.h"

namespace ak::app {
namespace {

constexpr int kDepth = 3;
constexpr std::size_t kMinLeaf = 5;
constexpr double kMinGain = 0.05;  // of the variance at the root: less is not worth a line; chosen

double value_of(const TreeSample& sample, const std::string& feature) {
  const auto found = sample.features.find(feature);
  return found == sample.features.end() ? 0 : found->second;
}

/// Sum of squared differences to the mean.
double spread_of(std::span<const TreeSample> samples) {
  double mean = 0, spread = 0;
  for (const TreeSample& sample : samples) mean += sample.log_time / static_cast<double>(samples.size());
  for (const TreeSample& sample : samples) spread += (sample.log_time - mean) * (sample.log_time - mean);
  return spread;
}

/// A feature of the samples with its values, which its levels are ranks of.
struct Feature {
  std::string name;
  std::vector<double> values;

  Feature(std::string of, std::span<const TreeSample> samples) : name(std::move(of)) {
    for (const TreeSample& sample : samples) values.push_back(value_of(sample, name));
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  [[nodiscard]] TreeColumn column(std::span<const TreeSample> samples) const {
    TreeColumn column{.levels = {}, .extent = values.size()};
    for (const TreeSample& sample : samples) {
      const auto rank = std::ranges::lower_bound(values, value_of(sample, name)) - values.begin();
      column.levels.push_back(static_cast<std::uint32_t>(rank));
    }
    return column;
  }
};

TreeNode named(const RegressionTree& tree, std::size_t at, const std::vector<Feature>& features) {
  const RegressionNode& grown = tree[at];
  TreeNode node{.samples = grown.rows, .mean_log_time = grown.answer, .feature = "", .low = {}, .high = {}};
  if (grown.is_leaf()) return node;
  node.feature = features[grown.split.column].name;
  node.threshold = features[grown.split.column].values[grown.split.max_left];
  node.low = std::make_unique<TreeNode>(named(tree, grown.left, features));
  node.high = std::make_unique<TreeNode>(named(tree, grown.right, features));
  return node;
}

void write(const TreeNode& node, const std::string& condition, int level, std::string& text) {
  if (level >= 0)
    text += fmt::format("{:{}}- {}: {:.2f} times the best known ({} points)\n", "", 2 * level, condition,
                        std::exp(node.mean_log_time), node.samples);
  if (node.feature.empty()) return;
  const bool low_first = node.low->mean_log_time <= node.high->mean_log_time;
  const std::string low = fmt::format("{} <= {:g}", node.feature, node.threshold);
  const std::string high = fmt::format("{} > {:g}", node.feature, node.threshold);
  write(low_first ? *node.low : *node.high, low_first ? low : high, level + 1, text);
  write(low_first ? *node.high : *node.low, low_first ? high : low, level + 1, text);
}

}  // namespace

TreeNode fit_tree(std::span<const TreeSample> samples) {
  if (samples.empty()) return {};
  std::vector<Feature> features;
  std::vector<TreeColumn> columns;
  std::vector<std::size_t> all_columns, all_rows;
  for (const auto& [name, value] : samples.front().features) {
    all_columns.push_back(features.size());
    columns.push_back(features.emplace_back(name, samples).column(samples));
  }
  std::vector<TreeTarget> targets;
  for (const TreeSample& sample : samples) {
    all_rows.push_back(targets.size());
    targets.push_back({.sum = sample.log_time, .weight = 1});
  }
  TreeGrower grower(std::move(columns), {.depth = kDepth,
                                         .min_rows = 2 * kMinLeaf,
                                         .min_leaf_weight = kMinLeaf,
                                         .min_gain = kMinGain * spread_of(samples),
                                         .choose_threshold = {}});
  return named(grower.grow(targets, all_rows, all_columns), 0, features);
}

std::string tree_markdown(const TreeNode& root) {
  std::string text;
  write(root, "", -1, text);
  return text;
}

}  // namespace ak::app
