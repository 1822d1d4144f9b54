// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "core/sets/set_rule.h"

namespace ak::codegen {

/// So many shapes of a cell are drawn at random, beside its corners and edges.
inline constexpr int kDrawnInCell = 8;

/// Shapes on which a cell's member has to be right: corners and edges of the cell in each of the problem's ranges of
/// held-out shapes for the device, and kDrawnInCell drawn in it, each once, all legal. Where the cell has nothing in
/// common with these ranges they are between its timed shapes. A function of its arguments alone.
/// @param timed the shapes that the rule was learned from
[[nodiscard]] std::vector<Workload> cell_shapes(const ProblemInstance& problem, const SetRule& rule,
                                                std::size_t cell, DeviceKind device,
                                                const std::vector<AxisValues>& timed, std::uint64_t seed);

}  // namespace ak::codegen
