// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/cheapest_points.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ak {

CheapestPoints::CheapestPoints(const TunableSpace& space, std::vector<std::vector<double>> costs)
    : space_(space) {
  if (space.size() == 0) return;
  const std::size_t layers = space.order_.size();
  for (const std::uint32_t parameter : space.order_) costs_.push_back(std::move(costs[parameter]));
  left_.resize(layers + 1);
  left_[layers].assign(1, 0);
  for (std::size_t layer = layers; layer-- > 0;) {
    for (const auto& [begin, end] : space.nodes_[layer]) {
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t e = begin; e < end; ++e) {
        const auto& edge = space.edges_[e];
        least = std::min(least, costs_[layer][edge.value] + left_[layer + 1][edge.child]);
      }
      left_[layer].push_back(least);
    }
  }
  queue_.push({.cost = left_[0][0]});
}

std::optional<std::uint64_t> CheapestPoints::next() {
  while (!queue_.empty()) {
    const Beginning top = queue_.top();
    queue_.pop();
    if (top.layer == costs_.size()) return top.number;
    const auto [begin, end] = space_.nodes_[top.layer][top.node];
    for (std::uint32_t e = begin; e < end; ++e) {
      const auto& edge = space_.edges_[e];
      const double spent = top.spent + costs_[top.layer][edge.value];
      queue_.push({.cost = spent + left_[top.layer + 1][edge.child],
                   .spent = spent,
                   .number = top.number + edge.before,
                   .layer = top.layer + 1,
                   .node = edge.child});
    }
  }
  return std::nullopt;
}

}  // namespace ak
