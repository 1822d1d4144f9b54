// SPDX-License-Identifier: Apache-2.0
#include "agent/search/forest.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace ak::agent {
namespace {

constexpr std::size_t kMinToSplit = 3;  // rows; fewer become a leaf
constexpr double kAnyGain = -std::numeric_limits<double>::infinity();

}  // namespace

Forest::Forest(const Points& points) : points_(points) {
  const auto add = [&](std::size_t axis, auto level_of) {
    Feature feature{.axis = axis, .levels = {}, .extent = 0};
    for (std::size_t ordinal = 0; ordinal < points.extent(axis); ++ordinal) {
      feature.levels.push_back(static_cast<std::uint16_t>(level_of(ordinal)));
      feature.extent = std::max<std::size_t>(feature.extent, feature.levels.back() + 1U);
    }
    features_.push_back(std::move(feature));
  };
  for (std::size_t axis = 0; axis < points.axes(); ++axis) {
    const auto& values = points.values(axis);
    if (values.size() < 2) continue;
    add(axis, [](std::size_t ordinal) { return ordinal; });
    if (values.size() < 3 || values.front() <= 0) continue;
    add(axis,
        [&](std::size_t ordinal) { return std::countr_zero(static_cast<std::uint64_t>(values[ordinal])); });
  }
}

void Forest::fit(const std::vector<PointNumber>& rows, const std::vector<double>& values, std::size_t count,
                 Engine& engine) {
  std::vector<Ordinals> ordinals;
  for (const PointNumber row : rows) ordinals.push_back(points_.ordinals(row));
  std::vector<TreeColumn> columns;
  for (const Feature& feature : features_) {
    TreeColumn& column = columns.emplace_back(TreeColumn{.levels = {}, .extent = feature.extent});
    for (const Ordinals& row : ordinals) column.levels.push_back(level(feature, row));
  }
  std::vector<TreeTarget> targets;
  for (const double value : values) targets.push_back({.sum = value, .weight = 1});
  std::vector<std::size_t> all_rows(rows.size()), all_columns(columns.size());
  std::iota(all_rows.begin(), all_rows.end(), 0);
  std::iota(all_columns.begin(), all_columns.end(), 0);
  TreeGrower grower(
      std::move(columns),
      {.min_rows = kMinToSplit, .min_gain = kAnyGain, .choose_threshold = [&](std::size_t thresholds) {
         return draw_below(engine, thresholds);
       }});
  if (trees_.empty()) count = kTrees;
  trees_.resize(kTrees);
  for (std::size_t i = 0; i < count; ++i, oldest_ = (oldest_ + 1) % kTrees)
    trees_[oldest_] = compact(grower.grow(targets, all_rows, all_columns));
}

Forest::Tree Forest::compact(const RegressionTree& tree) {
  Tree result;
  for (const RegressionNode& node : tree)
    result.push_back({.answer = node.answer,
                      .right = node.right,
                      .feature = static_cast<std::uint16_t>(node.split.column),
                      .max_left = static_cast<std::uint16_t>(node.split.max_left)});
  return result;
}

double Forest::answer_of(const Tree& tree, const std::uint16_t* levels) {
  const Node* node = tree.data();
  while (node->right != 0) node = levels[node->feature] <= node->max_left ? node + 1 : &tree[node->right];
  return node->answer;
}

/// Tree by tree: one of them stays in the nearest cache, and all do not.
std::vector<Forest::Prediction> Forest::predict(const std::vector<PointNumber>& points) const {
  std::vector<std::uint16_t> levels;  // point by point
  levels.reserve(points.size() * features_.size());
  for (const PointNumber point : points) {
    const Ordinals ordinals = points_.ordinals(point);
    for (const Feature& feature : features_) levels.push_back(level(feature, ordinals));
  }
  std::vector<double> sums(points.size()), squares(points.size());
  for (const Tree& tree : trees_) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double answer = answer_of(tree, levels.data() + i * features_.size());
      sums[i] += answer;
      squares[i] += answer * answer;
    }
  }
  const auto count = static_cast<double>(trees_.size());
  std::vector<Prediction> result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double mean = sums[i] / count;
    result.push_back({mean, std::max(squares[i] / count - mean * mean, 0.0)});
  }
  return result;
}

}  // namespace ak::agent
