// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/plan/problem.h"
#include "core/sets/time_estimate.h"

namespace ak {

/// A row of a rule: a shape that was asked for, and the member that was measured to be the fastest there.
struct RuleRow {
  AxisValues shape;
  std::size_t member = 0;

  /// "M == 64 and N == 512"
  [[nodiscard]] std::string condition() const;
};

/// Which member of a kernel set takes which shape: of a row the row's, of any other that whose estimated time is the
/// least, of equal ones the first. Only members that take the shape, and not in rows alone, are compared.
struct SetRule {
  std::vector<RuleRow> rows;
  std::vector<TimeEstimate> estimates;  ///< by member; none of a set of one
  std::vector<std::size_t> in_rows_alone =
      {};                    ///< members, ascending, that take nothing but the shapes of their rows
  std::size_t fallback = 0;  ///< the member that takes what no other takes

  [[nodiscard]] bool is_in_rows_alone(std::size_t member) const {
    return std::ranges::find(in_rows_alone, member) != in_rows_alone.end();
  }
};

}  // namespace ak
