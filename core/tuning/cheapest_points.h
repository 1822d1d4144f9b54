// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "core/tuning/tunable_space.h"

namespace ak {

/// The points of a space by ascending cost, where a point's cost is the sum of those of its values: the nearest
/// first, where these are distances. Begins with a walk over all edges of the diagram; then it goes to each
/// point directly (A* with the exact cost of what is left). Used by one thread.
class CheapestPoints {
 public:
  /// @param costs of each parameter's values, at least 0. `space` must outlive this.
  CheapestPoints(const TunableSpace& space, std::vector<std::vector<double>> costs);
  /// Number of the next point; nothing when there are no more.
  [[nodiscard]] std::optional<std::uint64_t> next();

 private:
  struct Beginning {
    double cost = 0;   ///< least of the points that begin so
    double spent = 0;  ///< of what is bound
    std::uint64_t number = 0;
    std::uint32_t layer = 0, node = 0;
    /// Of equal costs the longest is first: else all beginnings that cost as much would come before the first point.
    bool operator>(const Beginning& other) const {
      return cost != other.cost ? cost > other.cost : layer < other.layer;
    }
  };

  const TunableSpace& space_;
  std::vector<std::vector<double>> costs_;  ///< [layer][value]
  std::vector<std::vector<double>> left_;   ///< [layer][node]: least cost from there on
  std::priority_queue<Beginning, std::vector<Beginning>, std::greater<>> queue_;
};

}  // namespace ak
