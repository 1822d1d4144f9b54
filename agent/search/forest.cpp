// SPDX-License-Identifier: Apache-2.0
#include "agent/search/forest.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ak::agent {
namespace {

constexpr int kTrees = 40;              // chosen: 40 trees of 200 rows grow in 2 ms
constexpr std::size_t kMinToSplit = 3;  // rows; fewer become a leaf

}  // namespace

Forest::Forest(const Points& points) : points_(points) {
  for (std::size_t axis = 0; axis < points.axes(); ++axis) {
    const auto& values = points.values(axis);
    if (values.size() < 2) continue;
    features_.push_back({axis, {}});
    if (values.size() < 3 || values.front() <= 0) continue;
    features_.push_back({axis, {}});
    for (const std::int64_t value : values)
      features_.back().levels.push_back(
          static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(value))));
  }
}

int Forest::level(const Feature& feature, std::size_t point) const {
  const char16_t ordinal = points_.ordinals(point)[feature.axis];
  return feature.levels.empty() ? int{ordinal} : int{feature.levels[ordinal]};
}

void Forest::fit(const std::vector<std::size_t>& rows, const std::vector<double>& values, Engine& engine) {
  std::vector<std::uint16_t> levels;
  for (const std::size_t row : rows)
    for (const Feature& feature : features_)
      levels.push_back(static_cast<std::uint16_t>(level(feature, row)));
  Rows all;
  for (std::size_t i = 0; i < rows.size(); ++i) all.push_back({&levels[i * features_.size()], values[i]});
  trees_.assign(kTrees, {});
  for (auto& tree : trees_) grow(tree, all, engine);
}

std::uint32_t Forest::grow(std::vector<Node>& tree, Rows rows, Engine& engine) const {
  const auto index = static_cast<std::uint32_t>(tree.size());
  const Node split = rows.size() < kMinToSplit ? Node{} : best_split(rows, engine);
  tree.push_back(split);
  for (const Row& row : rows) tree[index].mean += row.value / static_cast<double>(rows.size());
  if (split.left == 0) return index;
  const auto middle = std::stable_partition(
      rows.begin(), rows.end(), [&](const Row& row) { return row.levels[split.feature] <= split.most_left; });
  Rows right(middle, rows.end());
  rows.erase(middle, rows.end());
  const auto left_index = grow(tree, std::move(rows), engine);
  const auto right_index = grow(tree, std::move(right), engine);
  tree[index].left = left_index;
  tree[index].right = right_index;
  return index;
}

/// One random threshold a feature; the one that explains most. `left` is set when there is any.
Forest::Node Forest::best_split(const Rows& rows, Engine& engine) const {
  Node best;
  double most = -1, all = 0;
  for (const Row& row : rows) all += row.value;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    int min_level = rows.front().levels[f], max_level = min_level;
    for (const Row& row : rows) {
      min_level = std::min<int>(min_level, row.levels[f]);
      max_level = std::max<int>(max_level, row.levels[f]);
    }
    if (min_level == max_level) continue;
    const int most_left =
        min_level + static_cast<int>(draw_below(engine, static_cast<std::uint64_t>(max_level - min_level)));
    double left = 0, count = 0;
    for (const Row& row : rows) {
      if (row.levels[f] > most_left) continue;
      left += row.value;
      ++count;
    }
    const double others = static_cast<double>(rows.size()) - count, right = all - left;
    const double explained = left * left / count + right * right / others;  // but for a constant
    if (explained > most) most = explained, best = {f, most_left, 1, 1, 0};
  }
  return best;
}

Forest::Prediction Forest::predict(std::size_t point) const {
  double sum = 0, squares = 0;
  for (const auto& tree : trees_) {
    const Node* node = tree.data();
    while (node->left != 0)
      node = &tree[level(features_[node->feature], point) <= node->most_left ? node->left : node->right];
    sum += node->mean;
    squares += node->mean * node->mean;
  }
  const double mean = sum / kTrees;
  return {mean, std::max(squares / kTrees - mean * mean, 0.0)};
}

}  // namespace ak::agent
