// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/plan/problem.h"

namespace ak::app {

/// Three shapes that differ in one axis alone, whose size doubles from each to the next.
struct AxisShapes {
  std::string axis;
  std::array<std::size_t, 3> workloads{};  ///< numbers in FormulaShapes::workloads
};

/// The shapes on which formulas are compared with counts.
struct FormulaShapes {
  std::vector<Workload> workloads;  ///< those of tier emulator, then those that `axes` adds
  std::vector<AxisShapes>
      axes;  ///< of varying axes that can double twice, from one shape of which that is quick
};

/// All timed under the distribution that is timed, and under no other.
/// @param names of workloads that take the place of those of tier emulator; empty: those
[[nodiscard]] FormulaShapes formula_shapes(const ProblemInstance& problem,
                                           const std::vector<std::string>& names);

}  // namespace ak::app
