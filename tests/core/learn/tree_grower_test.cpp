// SPDX-License-Identifier: Apache-2.0
#include "core/learn/tree_grower.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

namespace ak {
namespace {

/// Random rows; values are small integers, so that many splits are equally good and sums are exact.
struct RandomRows {
  explicit RandomRows(unsigned seed, bool with_unknown) {
    std::mt19937 random(seed);
    const std::size_t count = 8 + random() % 30;
    for (std::size_t extent : {2, 5, 9}) {
      TreeColumn column{.levels = {}, .extent = extent};
      for (std::size_t row = 0; row < count; ++row) {
        const bool unknown = with_unknown && random() % 4 == 0;
        column.levels.push_back(unknown ? TreeColumn::kUnknown
                                        : static_cast<std::uint32_t>(random() % extent));
      }
      columns.push_back(std::move(column));
    }
    for (std::size_t row = 0; row < count; ++row) {
      const auto weight = static_cast<double>(1 + random() % 2), value = static_cast<double>(random() % 16);
      targets.push_back({.sum = weight * value, .weight = weight});
    }
    rows.resize(count);
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::vector<TreeColumn> columns;
  std::vector<TreeTarget> targets;
  std::vector<std::size_t> rows;
};

const std::vector<std::size_t> kAllColumns{0, 1, 2};

/// Loss of rows that get the best answer of all: found by its definition, row by row.
double loss(const RandomRows& data, const std::vector<std::size_t>& rows, double l2) {
  TreeTarget total;
  for (const std::size_t row : rows) {
    total.sum += data.targets[row].sum;
    total.weight += data.targets[row].weight;
  }
  const double answer = total.sum / (total.weight + l2);
  double result = l2 * answer * answer;
  for (const std::size_t row : rows) {
    const double error = data.targets[row].sum / data.targets[row].weight - answer;
    result += data.targets[row].weight * error * error;
  }
  return result;
}

/// The smallest loss after any one split, or that without one.
double smallest_loss(const RandomRows& data, const TreeGrowthOptions& options) {
  double smallest = loss(data, data.rows, options.leaf_l2);
  for (std::size_t column = 0; column < data.columns.size(); ++column) {
    for (std::size_t level = 0; level + 1 < data.columns[column].extent; ++level) {
      for (const bool unknown_left : {true, false}) {
        std::vector<std::size_t> left, right;
        double left_weight = 0, right_weight = 0;
        for (const std::size_t row : data.rows) {
          const std::uint32_t own = data.columns[column].levels[row];
          const bool goes_left = own == TreeColumn::kUnknown ? unknown_left : own <= level;
          (goes_left ? left : right).push_back(row);
          (goes_left ? left_weight : right_weight) += data.targets[row].weight;
        }
        if (std::min(left_weight, right_weight) < options.min_leaf_weight) continue;
        smallest = std::min(smallest, loss(data, left, options.leaf_l2) + loss(data, right, options.leaf_l2));
      }
    }
  }
  return smallest;
}

auto level_of(const RandomRows& data, std::size_t row) {
  return [&data, row](std::size_t column) { return data.columns[column].levels[row]; };
}

double loss_of(const RandomRows& data, const RegressionTree& tree, double l2) {
  double result = 0;
  for (std::size_t node = 0; node < tree.size(); ++node) {
    if (!tree[node].is_leaf()) continue;
    std::vector<std::size_t> rows;
    for (const std::size_t row : data.rows)
      if (&leaf_of(tree, level_of(data, row)) == &tree[node]) rows.push_back(row);
    CHECK(rows.size() == tree[node].rows);
    result += loss(data, rows, l2);
  }
  return result;
}

TEST_CASE("the first split is the best of all that there are") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const RandomRows data(seed, seed % 2 == 1);
    const TreeGrowthOptions options{.depth = 1,
                                    .min_leaf_weight = 1.0 + seed % 5,
                                    .leaf_l2 = seed % 3 == 0 ? 0.0 : 0.5 * (seed % 7),
                                    .min_gain = 1e-9,
                                    .choose_threshold = {}};
    TreeGrower grower(data.columns, options);
    const RegressionTree tree = grower.grow(data.targets, data.rows, kAllColumns);
    CHECK(loss_of(data, tree, options.leaf_l2) == Approx(smallest_loss(data, options)).margin(1e-9));
  }
}

TEST_CASE("a tree without limits tells all rows apart that differ") {
  RandomRows data(7, true);
  for (std::size_t row = 0; row < data.targets.size(); ++row) {  // a value that the levels decide
    double value = 0;
    for (const TreeColumn& column : data.columns)
      value = 10 * value + (column.levels[row] == TreeColumn::kUnknown ? 9.5 : column.levels[row]);
    data.targets[row] = {.sum = value, .weight = 1};
  }
  TreeGrower grower(data.columns, {.min_gain = 1e-9, .choose_threshold = {}});
  const RegressionTree tree = grower.grow(data.targets, data.rows, kAllColumns);
  for (const std::size_t row : data.rows)
    CHECK(leaf_of(tree, level_of(data, row)).answer == Approx(data.targets[row].sum).margin(1e-9));
}

TEST_CASE("depth, rows, weights and gains are limits") {
  const RandomRows data(3, false);
  const auto grown = [&](TreeGrowthOptions options) {
    return TreeGrower(data.columns, std::move(options)).grow(data.targets, data.rows, kAllColumns);
  };
  CHECK(grown({.depth = 0, .choose_threshold = {}}).size() == 1);
  CHECK(grown({.depth = 2, .choose_threshold = {}}).size() <= 7);
  CHECK(grown({.min_rows = data.rows.size() + 1, .choose_threshold = {}}).size() == 1);
  CHECK(grown({.min_gain = 1e9, .choose_threshold = {}}).size() == 1);
  for (const RegressionNode& node : grown({.min_leaf_weight = 6, .choose_threshold = {}}))
    CHECK(node.rows >= 3);
}

TEST_CASE("a tree sees only the rows and columns that it is given") {
  const RandomRows data(11, true);
  TreeGrower grower(data.columns, {.choose_threshold = {}});
  const std::vector<std::size_t> some{0, 2, 3, 5, 6}, one_column{2};
  const RegressionTree tree = grower.grow(data.targets, some, one_column);
  CHECK(tree.front().rows == some.size());
  for (const RegressionNode& node : tree) CHECK((node.is_leaf() || node.split.column == 2));
  CHECK(grower.grow(data.targets, {}, one_column).size() == 1);
}

TEST_CASE("a chosen threshold is the only one, between the lowest and the highest level of the node") {
  const RandomRows data(5, false);
  std::vector<std::size_t> counts;
  TreeGrowthOptions options{.depth = 1, .min_gain = -INFINITY, .choose_threshold = {}};
  options.choose_threshold = [&](std::size_t count) {
    counts.push_back(count);
    return count - 1;
  };
  TreeGrower grower(data.columns, options);
  const std::vector<std::size_t> last{2};
  const RegressionTree tree = grower.grow(data.targets, data.rows, last);
  const auto& levels = data.columns[2].levels;
  const auto [lowest, highest] = std::ranges::minmax(levels);
  REQUIRE(counts == std::vector<std::size_t>{highest - lowest});
  REQUIRE(tree.size() == 3);
  CHECK(tree.front().split.max_left == highest - 1);
}

}  // namespace
}  // namespace ak
