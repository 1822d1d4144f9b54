// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/tuning/tunable_space.h"

namespace ak {

/// Makes a diagram of listed points: ends that are alike are one node.
class PointMerger {
 public:
  PointMerger(TunableSpace& space, const std::vector<TuningPoint>& points)
      : space_(space), points_(points), known_(space.parameters().size()), sizes_(known_.size()) {
    for (std::uint32_t i = 0; i < known_.size(); ++i) space_.order_.push_back(i);
    space_.nodes_.resize(known_.size());
  }

  void merge() {
    AK_ASSERT(std::ranges::adjacent_find(points_, std::greater_equal()) == points_.end(),
              "listed points ascend");
    // The first node of the first layer is the root, and only that layer has one node for sure.
    if (!points_.empty()) add(0, 0, points_.size());
    space_.size_ = points_.size();
  }

 private:
  using Children = std::vector<std::pair<std::uint16_t, std::uint32_t>>;

  /// The node of the points [begin, end), which agree before `layer`.
  std::uint32_t add(std::size_t layer, std::size_t begin, std::size_t end) {
    if (layer == known_.size()) return 0;
    Children children;
    while (begin < end) {
      const std::uint16_t value = points_[begin][layer];
      std::size_t next = begin + 1;
      while (next < end && points_[next][layer] == value) ++next;
      children.emplace_back(value, add(layer + 1, begin, next));
      begin = next;
    }
    const auto [found, is_new] =
        known_[layer].emplace(children, static_cast<std::uint32_t>(space_.nodes_[layer].size()));
    if (is_new) append(layer, children);
    return found->second;
  }

  void append(std::size_t layer, const Children& children) {
    auto& edges = space_.edges_;
    const auto begin = static_cast<std::uint32_t>(edges.size());
    std::uint64_t total = 0;
    for (const auto& [value, child] : children) {
      edges.push_back({total, child, value});
      total += layer + 1 == known_.size() ? 1 : sizes_[layer + 1][child];
    }
    space_.nodes_[layer].push_back({begin, static_cast<std::uint32_t>(edges.size())});
    sizes_[layer].push_back(total);
  }

  TunableSpace& space_;
  const std::vector<TuningPoint>& points_;
  std::vector<std::map<Children, std::uint32_t>> known_;  ///< [layer]
  std::vector<std::vector<std::uint64_t>> sizes_;         ///< [layer][node]: points below
};

TunableSpace TunableSpace::of_points(std::vector<TuningParameter> parameters,
                                     const std::vector<TuningPoint>& points) {
  TunableSpace space;
  space.rules_.parameters = std::move(parameters);
  PointMerger(space, points).merge();
  return space;
}

}  // namespace ak
