// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/decision_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace ak::tools {
namespace {

constexpr int kDepth = 3;
constexpr std::size_t kMinLeaf = 5;
constexpr double kMinGain = 0.05;  // of the variance at the root: less is not worth a line; chosen

using Samples = std::vector<const TreeSample*>;

double mean_of(const Samples& samples) {
  double sum = 0;
  for (const TreeSample* sample : samples) sum += sample->log_time;
  return sum / static_cast<double>(std::max<std::size_t>(samples.size(), 1));
}

double spread_of(const Samples& samples) {
  const double mean = mean_of(samples);
  double sum = 0;
  for (const TreeSample* sample : samples) sum += (sample->log_time - mean) * (sample->log_time - mean);
  return sum;
}

double value_of(const TreeSample& sample, const std::string& feature) {
  const auto found = sample.features.find(feature);
  return found == sample.features.end() ? 0 : found->second;
}

struct Split {
  std::string feature;
  double threshold = 0, spread = 0;
  Samples low, high;
};

std::optional<Split> best_split(const Samples& samples) {
  std::optional<Split> best;
  for (const auto& [feature, unused] : samples.front()->features) {
    std::set<double> values;
    for (const TreeSample* sample : samples) values.insert(value_of(*sample, feature));
    for (auto value = values.begin(); value != values.end() && std::next(value) != values.end(); ++value) {
      Split split{.feature = feature, .threshold = *value, .spread = 0, .low = {}, .high = {}};
      for (const TreeSample* sample : samples)
        (value_of(*sample, feature) <= *value ? split.low : split.high).push_back(sample);
      if (std::min(split.low.size(), split.high.size()) < kMinLeaf) continue;
      split.spread = spread_of(split.low) + spread_of(split.high);
      if (!best || split.spread < best->spread) best = std::move(split);
    }
  }
  return best;
}

TreeNode grow(const Samples& samples, int depth, double min_gain) {
  TreeNode node{
      .samples = samples.size(), .mean_log_time = mean_of(samples), .feature = "", .low = {}, .high = {}};
  if (depth == 0 || samples.size() < 2 * kMinLeaf) return node;
  auto split = best_split(samples);
  if (!split || spread_of(samples) - split->spread < min_gain) return node;
  node.feature = split->feature;
  node.threshold = split->threshold;
  node.low = std::make_unique<TreeNode>(grow(split->low, depth - 1, min_gain));
  node.high = std::make_unique<TreeNode>(grow(split->high, depth - 1, min_gain));
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
  Samples all;
  for (const TreeSample& sample : samples) all.push_back(&sample);
  return all.empty() ? TreeNode{} : grow(all, kDepth, kMinGain * spread_of(all));
}

std::string tree_markdown(const TreeNode& root) {
  std::string text;
  write(root, "", -1, text);
  return text;
}

}  // namespace ak::tools
