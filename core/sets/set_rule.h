// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/definition.h"
#include "core/plan/expression.h"

namespace ak {

/// "M <= 64", "M * N > 4194304", "K % 8 == 0": a bound on a quantity that follows from the sizes of a shape.
struct CellBound {
  std::string quantity;    ///< an expression over axes
  bool above = false;      ///< more than `limit`; else at most that
  std::int64_t limit = 0;  ///< of a remainder 0: it divides, or does not

  [[nodiscard]] std::string text() const;
  friend bool operator==(const CellBound&, const CellBound&) = default;
};

/// A row of a rule: the member that takes the shapes within all of the bounds.
struct RuleCell {
  std::vector<CellBound> bounds;  ///< none: every shape
  std::size_t member = 0;

  /// "M <= 64 and N > 512"; empty where there are no bounds.
  [[nodiscard]] std::string condition() const;
};

/// Which member of a kernel set takes which shape. The cells have no shape in common, and together they hold every
/// shape.
struct SetRule {
  std::vector<RuleCell> cells;
  std::size_t fallback = 0;  ///< the member that takes what no other takes

  /// The index of the cell that holds a shape. @param sizes every axis that the bounds mention
  [[nodiscard]] std::size_t cell_of(const Environment& sizes) const;
  [[nodiscard]] std::size_t member_of(const Environment& sizes) const { return cells[cell_of(sizes)].member; }
};

}  // namespace ak
