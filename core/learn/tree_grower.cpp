// SPDX-License-Identifier: Apache-2.0
#include "core/learn/tree_grower.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace ak {
namespace {

TreeTarget operator+(const TreeTarget& a, const TreeTarget& b) {
  return {a.sum + b.sum, a.weight + b.weight};
}
TreeTarget operator-(const TreeTarget& a, const TreeTarget& b) {
  return {a.sum - b.sum, a.weight - b.weight};
}

}  // namespace

TreeGrower::TreeGrower(std::vector<TreeColumn> columns, TreeGrowthOptions options)
    : columns_(std::move(columns)), options_(std::move(options)) {
  AK_ASSERT(options_.min_leaf_weight > 0, "a leaf has a row");
}

RegressionTree TreeGrower::grow(std::span<const TreeTarget> targets, std::vector<std::size_t> rows,
                                std::span<const std::size_t> columns) {
  targets_ = targets;
  eligible_ = columns;
  tree_.clear();
  grow_node(rows, options_.depth);
  return std::exchange(tree_, {});
}

std::uint32_t TreeGrower::grow_node(Rows rows, int depth) {
  const auto index = static_cast<std::uint32_t>(tree_.size());
  TreeTarget total;
  for (const std::size_t row : rows) total = total + targets_[row];
  const double answer = rows.empty() ? 0 : total.sum / (total.weight + options_.leaf_l2);
  tree_.push_back({.split = {}, .rows = rows.size(), .answer = answer});
  if (depth == 0 || rows.size() < options_.min_rows) return index;
  const BestSplit best = best_split(rows, total);
  if (best.explained < 0 || best.explained - explained(total) < options_.min_gain) return index;
  const auto& levels = columns_[best.split.column].levels;
  const auto right = std::stable_partition(
      rows.begin(), rows.end(), [&](std::size_t row) { return best.split.goes_left(levels[row]); });
  const auto left_count = static_cast<std::size_t>(right - rows.begin());
  const std::uint32_t left_index = grow_node(rows.first(left_count), depth - 1);
  const std::uint32_t right_index = grow_node(rows.subspan(left_count), depth - 1);
  tree_[index].split = best.split;
  tree_[index].left = left_index;
  tree_[index].right = right_index;
  return index;
}

TreeGrower::BestSplit TreeGrower::best_split(Rows rows, const TreeTarget& total) {
  BestSplit best;
  for (const std::size_t column : eligible_) {
    const std::size_t extent = columns_[column].extent;
    if (extent < 2) continue;
    const LevelSums sums = sum_levels(columns_[column], rows);
    std::size_t first = 0, last = extent - 1;
    if (options_.choose_threshold) {
      if (sums.lowest >= sums.highest) continue;
      first = sums.lowest + options_.choose_threshold(sums.highest - sums.lowest);
      last = first + 1;
    }
    TreeTarget left;
    for (std::size_t level = 0; level < last; ++level) {
      left = left + sums_[level];
      if (level < first) continue;
      consider({column, level, true}, left + sums.unknown, total, best);
      if (sums.unknown.weight > 0) consider({column, level, false}, left, total, best);
    }
  }
  return best;
}

TreeGrower::LevelSums TreeGrower::sum_levels(const TreeColumn& column, Rows rows) {
  sums_.assign(column.extent, {});
  LevelSums result{.lowest = column.extent, .highest = 0, .unknown = {}};
  for (const std::size_t row : rows) {
    const std::uint32_t level = column.levels[row];
    if (level == TreeColumn::kUnknown) {
      result.unknown = result.unknown + targets_[row];
      continue;
    }
    sums_[level] = sums_[level] + targets_[row];
    result.lowest = std::min<std::size_t>(result.lowest, level);
    result.highest = std::max<std::size_t>(result.highest, level);
  }
  return result;
}

void TreeGrower::consider(const TreeSplit& split, const TreeTarget& left, const TreeTarget& total,
                          BestSplit& best) const {
  const TreeTarget right = total - left;
  if (std::min(left.weight, right.weight) < options_.min_leaf_weight) return;
  const double now = explained(left) + explained(right);
  if (now > best.explained) best = {split, now};
}

}  // namespace ak
