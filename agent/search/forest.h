// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/search/draw.h"
#include "agent/search/points.h"
#include "core/learn/tree_grower.h"

namespace ak::agent {

/// Extremely randomised trees (Geurts, Ernst, Wehenkel, "Extremely randomized trees", 2006) over the values
/// of points: split by rank, or by the power of two that divides the value, at one random threshold a feature.
/// Used by one thread.
class Forest {
 public:
  struct Prediction {
    double mean = 0, variance = 0;  ///< over the trees
  };

  explicit Forest(const Points& points);
  /// Replaces the trees. There is at least one row; `values` has one a row.
  void fit(const std::vector<std::size_t>& rows, const std::vector<double>& values, Engine& engine);
  [[nodiscard]] Prediction predict(std::size_t point) const;

 private:
  struct Feature {
    std::size_t axis = 0;
    std::vector<std::uint32_t> levels;  ///< by ordinal
    std::size_t extent = 0;
  };
  [[nodiscard]] std::uint32_t level(const Feature& feature, std::size_t point) const {
    return feature.levels[points_.ordinals(point)[feature.axis]];
  }

  const Points& points_;
  std::vector<Feature> features_;
  std::vector<RegressionTree> trees_;
};

}  // namespace ak::agent
