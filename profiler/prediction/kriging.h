// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/prediction/boosted_trees.h"

namespace ak::profiler {

/// Gaussian process regression (kriging) on some hundred rows: a constant and a Matern-5/2 kernel of a
/// weighted sum of distances, one a feature, and one more that tells equal from unequal. Weights and noise
/// are those of the greatest marginal likelihood (Rasmussen and Williams, Gaussian Processes for Machine
/// Learning, chapter 5), found by some steps from weights that depend on the number of features alone. A
/// feature that is not known is its own value. Of many rows some are kept, evenly. Immutable once
/// fitted; threads may share it.
class Kriging {
 public:
  Kriging() = default;  ///< predicts 0
  [[nodiscard]] static Kriging fit(const std::vector<Features>& rows, const std::vector<double>& targets);
  [[nodiscard]] double predict(const Features& features) const;

  [[nodiscard]] Json to_json() const;
  /// Throws Error(bad_input) that says what was expected.
  [[nodiscard]] static Kriging from_json(const Json& json);

 private:
  friend class KrigingCorrelation;
  struct Column {
    std::string name;
    double least = 0, range = 1;
    double near = 0, equal = 0;  ///< weights of the two distances
  };
  [[nodiscard]] std::vector<double> row_of(const Features& features) const;
  [[nodiscard]] double squared_distance(const std::vector<double>& a, const std::vector<double>& b) const;
  void set_columns(const std::vector<const Features*>& rows);

  std::vector<Column> columns_;
  double mean_ = 0;
  std::vector<std::vector<double>> rows_;
  std::vector<double> answers_;  ///< (K + noise)^-1 (y - mean)
};

}  // namespace ak::profiler
