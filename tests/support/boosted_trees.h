// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ak::test {

/// Rows of features, each of one of two classes.
struct LabelledRows {
  std::vector<std::vector<double>> rows;  ///< as many features each
  std::vector<bool> labels;
};

/// Share of rows that were distinguished, with its 95 % interval (Wilson 1927).
struct Accuracy {
  double share = 0, low = 0, high = 1;
  [[nodiscard]] bool is_chance() const { return low <= 0.5 && high >= 0.5; }
};

/// Trains boosted trees on one set of rows and has them tell the classes of another apart. Both should have as many
/// rows of either class.
[[nodiscard]] Accuracy tell_apart(const LabelledRows& train, const LabelledRows& test);

}  // namespace ak::test
