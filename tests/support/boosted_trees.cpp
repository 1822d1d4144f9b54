// SPDX-License-Identifier: Apache-2.0
#include "tests/support/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/learn/tree_grower.h"

namespace ak::test {
namespace {

// Shallow trees, slowly: differences of means, spreads and pairs of features are found from 1,000 rows, and noise of
// that many does not fill the answer.
constexpr int kTrees = 100, kDepth = 3;
constexpr double kLearningRate = 0.1, kMinLeafRows = 20;
constexpr std::size_t kBins = 32;

/// Where the bins of a feature begin.
std::vector<double> thresholds_of(const LabelledRows& data, std::size_t feature) {
  std::vector<double> values;
  for (const auto& row : data.rows) values.push_back(row[feature]);
  std::ranges::sort(values);
  std::vector<double> thresholds;
  for (std::size_t bin = 1; bin < kBins; ++bin) thresholds.push_back(values[bin * values.size() / kBins]);
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

std::uint32_t level_of(const std::vector<double>& thresholds, double value) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(thresholds, value) - thresholds.begin());
}

Accuracy accuracy_of(std::size_t right, std::size_t count) {
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {.share = share, .low = middle - half, .high = middle + half};
}

}  // namespace

Accuracy tell_apart(const LabelledRows& train, const LabelledRows& test) {
  const std::size_t features = train.rows.front().size();
  std::vector<std::vector<double>> thresholds;
  std::vector<TreeColumn> columns(features);
  for (std::size_t f = 0; f < features; ++f) {
    thresholds.push_back(thresholds_of(train, f));
    columns[f].extent = thresholds[f].size() + 1;
    for (const auto& row : train.rows) columns[f].levels.push_back(level_of(thresholds[f], row[f]));
  }
  std::vector<std::size_t> all_columns(features), all_rows(train.rows.size());
  std::iota(all_columns.begin(), all_columns.end(), std::size_t{0});
  std::iota(all_rows.begin(), all_rows.end(), std::size_t{0});
  TreeGrower grower(std::move(columns),
                    {.depth = kDepth, .min_leaf_weight = kMinLeafRows, .choose_threshold = {}});
  std::vector<double> answers(train.rows.size()), test_answers(test.rows.size());
  for (int i = 0; i < kTrees; ++i) {
    std::vector<TreeTarget> targets;
    for (std::size_t row = 0; row < answers.size(); ++row)
      targets.push_back({.sum = (train.labels[row] ? 1 : -1) - answers[row], .weight = 1});
    const RegressionTree tree = grower.grow(targets, all_rows, all_columns);
    const auto add = [&](const LabelledRows& data, std::vector<double>& sums) {
      for (std::size_t row = 0; row < sums.size(); ++row) {
        sums[row] += kLearningRate * leaf_of(tree, [&](std::size_t f) {
                                       return level_of(thresholds[f], data.rows[row][f]);
                                     }).answer;
      }
    };
    add(train, answers);
    add(test, test_answers);
  }
  std::size_t right = 0;
  for (std::size_t row = 0; row < test.rows.size(); ++row)
    right += (test_answers[row] > 0) == test.labels[row];
  return accuracy_of(right, test.rows.size());
}

}  // namespace ak::test
