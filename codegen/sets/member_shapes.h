// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// So many shapes of a member are drawn at random, beside corners, edges and borders.
inline constexpr int kDrawnForMember = 8;

/// Which shapes a rule gives to a member.
using IsItsShape = std::function<bool(const AxisValues&)>;

/// Shapes on which a member has to be right: of each of the problem's ranges of held-out shapes for the device the corners
/// and edges that the rule gives to it, kDrawnForMember drawn ones that it gives to it, and beside these, along every
/// axis, the last before another member's. Where it takes nothing in these ranges they are between its timed shapes. Each
/// once, all legal. A function of its arguments alone.
/// @param number of the member, for names
/// @param timed the shapes that were asked for
[[nodiscard]] std::vector<Workload> member_shapes(const ProblemInstance& problem, const IsItsShape& is_its,
                                                  std::size_t number, DeviceKind device,
                                                  const std::vector<AxisValues>& timed, std::uint64_t seed);

}  // namespace ak::codegen
