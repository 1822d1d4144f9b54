// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/search/draw.h"
#include "agent/search/points.h"

namespace ak::agent {

/// Extremely randomised trees (Geurts, Ernst, Wehenkel, "Extremely randomized trees", 2006) over the values
/// of points: split by rank, or by the power of two that divides the value. Used by one thread.
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
    std::vector<std::uint8_t> levels;  ///< by ordinal; empty: the ordinal itself
  };
  struct Node {
    std::size_t feature = 0;
    int most_left = 0;                  ///< rows of at most this level go left
    std::uint32_t left = 0, right = 0;  ///< nodes; 0: a leaf
    double mean = 0;
  };
  struct Row {
    const std::uint16_t* levels;  ///< by feature
    double value;
  };
  using Rows = std::vector<Row>;

  [[nodiscard]] int level(const Feature& feature, std::size_t point) const;
  std::uint32_t grow(std::vector<Node>& tree, Rows rows, Engine& engine) const;
  [[nodiscard]] Node best_split(const Rows& rows, Engine& engine) const;

  const Points& points_;
  std::vector<Feature> features_;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace ak::agent
