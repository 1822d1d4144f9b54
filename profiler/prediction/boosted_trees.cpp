// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "core/error.h"

namespace ak::profiler {
namespace {

// Thresholds tried of one feature: more cost time and gain nothing on a few thousand rows (tried 16 to 128).
constexpr std::size_t kMaxBins = 48;
constexpr double kAnyGain = std::numeric_limits<double>::min();
constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();

double value_of(const Features& features, const std::string& name) {
  const auto found = features.find(name);
  return found == features.end() ? kUnknownValue : found->second;
}

std::vector<double> edges_of(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> edges;
  const bool few = distinct.size() <= kMaxBins;
  const std::vector<double>& from = few ? distinct : values;
  const std::size_t cuts = few ? distinct.size() : kMaxBins;
  for (std::size_t i = 1; i < cuts; ++i) {
    const std::size_t at = few ? i : i * from.size() / cuts;
    const double edge = 0.5 * (from[at - 1] + from[at]);
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  return edges;
}

/// A feature cut into bins: level b holds values up to edges[b], the last level those above all edges.
struct BinnedColumn {
  TreeColumn column;
  std::vector<double> edges;
};

BinnedColumn column_of(const RegressionSet& set, const std::string& name) {
  std::vector<double> all, known;
  for (const Features* features : set.features) {
    all.push_back(value_of(*features, name));
    if (!std::isnan(all.back())) known.push_back(all.back());
  }
  BinnedColumn binned{.column = {}, .edges = edges_of(std::move(known))};
  binned.column.extent = binned.edges.size() + 1;
  for (const double value : all) {
    const auto bin = std::ranges::lower_bound(binned.edges, value) - binned.edges.begin();
    binned.column.levels.push_back(std::isnan(value) ? TreeColumn::kUnknown
                                                     : static_cast<std::uint32_t>(bin));
  }
  return binned;
}

/// The rows and columns that a tree sees, drawn. Not std::sample or a distribution: their results differ between
/// standard libraries.
std::vector<std::size_t> sample(std::mt19937_64& random, std::size_t count, double share) {
  std::vector<std::size_t> picked;
  const auto limit = static_cast<std::uint64_t>(share * 4294967296.0);
  for (std::size_t i = 0; i < count; ++i) {
    if ((random() >> 32) < limit) picked.push_back(i);
  }
  return picked;
}

}  // namespace

BoostedTrees BoostedTrees::fit(const RegressionSet& set, const BoostingOptions& options) {
  AK_ASSERT(set.features.size() == set.targets.size() && set.targets.size() == set.weights.size(),
            "every row has features, a target and a weight");
  std::set<std::string> names;
  for (const Features* features : set.features) {
    for (const auto& [name, value] : *features) names.insert(name);
  }
  BoostedTrees fitted;
  fitted.columns_.assign(names.begin(), names.end());
  std::vector<TreeColumn> columns;
  std::vector<std::vector<double>> edges;
  for (const std::string& name : fitted.columns_) {
    BinnedColumn binned = column_of(set, name);
    columns.push_back(std::move(binned.column));
    edges.push_back(std::move(binned.edges));
  }
  TreeGrower grower(std::move(columns), {.depth = options.depth,
                                         .min_leaf_weight = options.smallest_leaf,
                                         .leaf_l2 = options.leaf_l2,
                                         .min_gain = kAnyGain,
                                         .choose_threshold = {}});
  std::mt19937_64 random(options.seed);
  std::vector<TreeTarget> left;  // to explain
  for (std::size_t row = 0; row < set.targets.size(); ++row)
    left.push_back({.sum = set.weights[row] * set.targets[row], .weight = set.weights[row]});
  for (int round = 0; round < options.rounds; ++round) {
    const auto chosen = sample(random, grower.columns().size(), options.column_share);
    const RegressionTree tree = grower.grow(left, sample(random, left.size(), options.row_share), chosen);
    for (std::size_t row = 0; row < left.size(); ++row) {
      const auto level = [&](std::size_t column) { return grower.columns()[column].levels[row]; };
      left[row].sum -= left[row].weight * options.learning_rate * leaf_of(tree, level).answer;
    }
    fitted.trees_.push_back(scaled(tree, edges, options.learning_rate));
  }
  return fitted;
}

BoostedTrees::Tree BoostedTrees::scaled(const RegressionTree& grown,
                                        const std::vector<std::vector<double>>& edges, double learning_rate) {
  Tree tree;
  for (const RegressionNode& node : grown) {
    if (node.is_leaf()) {
      tree.push_back({.value = learning_rate * node.answer});
      continue;
    }
    tree.push_back({.column = static_cast<int>(node.split.column),
                    .threshold = edges[node.split.column][node.split.max_left],
                    .unknown_left = node.split.unknown_left,
                    .left = static_cast<int>(node.left),
                    .right = static_cast<int>(node.right)});
  }
  return tree;
}

double BoostedTrees::predict(const Tree& tree, std::span<const double> row) {
  std::size_t at = 0;
  while (tree[at].column >= 0) {
    const Node& node = tree[at];
    const double value = row[static_cast<std::size_t>(node.column)];
    const bool left = std::isnan(value) ? node.unknown_left : value <= node.threshold;
    at = static_cast<std::size_t>(left ? node.left : node.right);
  }
  return tree[at].value;
}

double BoostedTrees::predict(const Features& features) const {
  std::vector<double> row;
  for (const std::string& name : columns_) row.push_back(value_of(features, name));
  double sum = 0;
  for (const Tree& tree : trees_) sum += predict(tree, row);
  return sum;
}

Json BoostedTrees::to_json() const {
  Json trees = Json::array();
  for (const Tree& tree : trees_) {
    Json nodes = Json::array();
    for (const Node& node : tree) {
      nodes.push_back(node.column < 0 ? Json::array({node.value})
                                      : Json::array({node.column, node.threshold, node.unknown_left ? 1 : 0,
                                                     node.left, node.right}));
    }
    trees.push_back(std::move(nodes));
  }
  return {{"columns", columns_}, {"trees", std::move(trees)}};
}

BoostedTrees BoostedTrees::from_json(const Json& json) {
  BoostedTrees read;
  try {
    read.columns_ = json.at("columns").get<std::vector<std::string>>();
    for (const Json& nodes : json.at("trees")) {
      Tree& tree = read.trees_.emplace_back();
      for (const Json& node : nodes) {
        if (node.size() == 1)
          tree.push_back({.value = node.at(0).get<double>()});
        else
          tree.push_back({node.at(0).get<int>(), node.at(1).get<double>(), node.at(2).get<int>() != 0,
                          node.at(3).get<int>(), node.at(4).get<int>()});
      }
    }
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "trees of a model: {}", error.what());
  }
  read.check();
  return read;
}

// A file may hold anything: every walk from a root must end in a leaf.
void BoostedTrees::check() const {
  for (const Tree& tree : trees_) {
    if (tree.empty()) fail(ExitCode::bad_input, "trees of a model: a tree has no node");
    for (int at = 0; at < std::ssize(tree); ++at) {
      const Node& node = tree[static_cast<std::size_t>(at)];
      if (node.column < 0) continue;
      const auto later = [&](int child) { return child > at && child < std::ssize(tree); };
      if (node.column >= std::ssize(columns_) || !later(node.left) || !later(node.right))
        fail(ExitCode::bad_input,
             "trees of a model: node {} refers to column {} and nodes {} and {}; expected a column below {} "
             "and later nodes",
             at, node.column, node.left, node.right, columns_.size());
    }
  }
}

}  // namespace ak::profiler
