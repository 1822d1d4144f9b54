// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "core/error.h"

namespace ak::profiler {
/// A feature cut into bins: bin b holds values up to edges[b], the last bin those above all edges.
struct BinnedColumn {
  std::vector<double> edges;
  std::vector<std::uint8_t> bins;  ///< of every row
};

namespace {

// Thresholds tried of one feature: more cost time and gain nothing on a few thousand rows (tried 16 to 128).
constexpr std::size_t kMaxBins = 48;
constexpr std::uint8_t kUnknown = 255;
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

BinnedColumn column_of(const RegressionSet& set, const std::string& name) {
  std::vector<double> all, known;
  for (const Features* features : set.features) {
    all.push_back(value_of(*features, name));
    if (!std::isnan(all.back())) known.push_back(all.back());
  }
  BinnedColumn column{.edges = edges_of(std::move(known)), .bins = {}};
  for (const double value : all) {
    const auto bin = std::ranges::lower_bound(column.edges, value) - column.edges.begin();
    column.bins.push_back(std::isnan(value) ? kUnknown : static_cast<std::uint8_t>(bin));
  }
  return column;
}

struct Sum {
  double error = 0, weight = 0;
  void add(const Sum& other) { error += other.error, weight += other.weight; }
  [[nodiscard]] Sum less(const Sum& other) const { return {error - other.error, weight - other.weight}; }
  [[nodiscard]] double gain(double prior) const { return error * error / (weight + prior); }
};

struct Split {
  double gain = 0;
  std::size_t column = 0, bin = 0;
  bool unknown_left = true;
};

}  // namespace

/// Grows the trees of one fit.
class TreeGrower {
 public:
  TreeGrower(const RegressionSet& set, const BoostingOptions& options, std::vector<std::string> columns)
      : set_(set), options_(options), random_(options.seed), errors_(set.targets) {
    for (const std::string& name : columns) columns_.push_back(column_of(set, name));
  }

  BoostedTrees::Tree grow() {
    tree_.clear();
    chosen_ = sample(columns_.size(), options_.column_share);
    split(sample(errors_.size(), options_.row_share), options_.depth);
    for (std::size_t row = 0; row < errors_.size(); ++row) errors_[row] -= answer(row);
    return tree_;
  }

 private:
  // Not std::sample or a distribution: their results differ between standard libraries.
  std::vector<std::size_t> sample(std::size_t count, double share) {
    std::vector<std::size_t> picked;
    const auto limit = static_cast<std::uint64_t>(share * 4294967296.0);
    for (std::size_t i = 0; i < count; ++i) {
      if ((random_() >> 32) < limit) picked.push_back(i);
    }
    return picked;
  }

  int split(const std::vector<std::size_t>& rows, int depth) {
    const int index = static_cast<int>(tree_.size());
    Sum total;
    for (const std::size_t row : rows) total.add(sum_of(row));
    tree_.push_back({.value = options_.learning_rate * total.error / (total.weight + options_.leaf_l2)});
    const Split best = depth > 0 ? best_split(rows, total) : Split{};
    if (best.gain <= 0) return index;
    std::vector<std::size_t> left, right;
    for (const std::size_t row : rows) (goes_left(best, row) ? left : right).push_back(row);
    BoostedTrees::Node node{.column = static_cast<int>(best.column),
                            .threshold = columns_[best.column].edges[best.bin],
                            .unknown_left = best.unknown_left};
    node.left = split(left, depth - 1);
    node.right = split(right, depth - 1);
    tree_[static_cast<std::size_t>(index)] = node;
    return index;
  }

  [[nodiscard]] Split best_split(const std::vector<std::size_t>& rows, const Sum& total) const {
    Split best;
    for (const std::size_t column : chosen_) {
      std::array<Sum, kUnknown + 1> sums{};
      for (const std::size_t row : rows) sums[columns_[column].bins[row]].add(sum_of(row));
      Sum left;
      for (std::size_t bin = 0; bin < columns_[column].edges.size(); ++bin) {
        left.add(sums[bin]);
        for (const bool unknown_left : {true, false}) {
          Sum side = left;
          if (unknown_left) side.add(sums[kUnknown]);
          const double gain = gain_of(side, total);
          if (gain > best.gain) best = {gain, column, bin, unknown_left};
        }
      }
    }
    return best;
  }

  [[nodiscard]] double gain_of(const Sum& left, const Sum& total) const {
    const Sum right = total.less(left);
    if (left.weight < options_.smallest_leaf || right.weight < options_.smallest_leaf) return 0;
    const double prior = options_.leaf_l2;
    return left.gain(prior) + right.gain(prior) - total.gain(prior);
  }

  [[nodiscard]] Sum sum_of(std::size_t row) const {
    return {set_.weights[row] * errors_[row], set_.weights[row]};
  }
  [[nodiscard]] bool goes_left(const Split& split, std::size_t row) const {
    const std::uint8_t bin = columns_[split.column].bins[row];
    return bin == kUnknown ? split.unknown_left : bin <= split.bin;
  }
  [[nodiscard]] double answer(std::size_t row) const {
    std::size_t at = 0;
    while (tree_[at].column >= 0) {
      const BoostedTrees::Node& node = tree_[at];
      const BinnedColumn& column = columns_[static_cast<std::size_t>(node.column)];
      const std::uint8_t bin = column.bins[row];
      const bool left = bin == kUnknown              ? node.unknown_left
                        : bin >= column.edges.size() ? false
                                                     : column.edges[bin] <= node.threshold;
      at = static_cast<std::size_t>(left ? node.left : node.right);
    }
    return tree_[at].value;
  }

  const RegressionSet& set_;
  const BoostingOptions& options_;
  std::mt19937_64 random_;
  std::vector<double> errors_;  ///< what is left to explain
  std::vector<BinnedColumn> columns_;
  std::vector<std::size_t> chosen_;
  BoostedTrees::Tree tree_;
};

BoostedTrees BoostedTrees::fit(const RegressionSet& set, const BoostingOptions& options) {
  AK_ASSERT(set.features.size() == set.targets.size() && set.targets.size() == set.weights.size(),
            "every row has features, a target and a weight");
  std::set<std::string> names;
  for (const Features* features : set.features) {
    for (const auto& [name, value] : *features) names.insert(name);
  }
  BoostedTrees fitted;
  fitted.columns_.assign(names.begin(), names.end());
  TreeGrower grower(set, options, fitted.columns_);
  for (int round = 0; round < options.rounds; ++round) fitted.trees_.push_back(grower.grow());
  return fitted;
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
