// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "core/result.h"

namespace ak::codegen {

/// A shape from `range` that satisfies the definition's constraints: of every axis each octave is as likely
/// as the next, and so are the sizes in an octave; then each axis takes the nearest size that the constraints
/// allow, given the axes before it. A function of seed and `index` alone, the same on every machine (integer
/// arithmetic). An error when 1,000 draws led to no shape.
[[nodiscard]] Result<AxisValues> draw_shape(const ProblemInstance& problem, const HeldOutRange& range,
                                            std::uint64_t seed, std::uint32_t index);

/// `count` shapes to check, named "held_out_1", "held_out_2", ...: drawn in rotation from the ranges for
/// `device`, which are those of tier emulator for the emulator and all except tier deep for others. Empty when
/// there is no such range. Throws Error(bad_input) naming a range from which no shape could be drawn.
[[nodiscard]] std::vector<Workload> sample_held_out(const ProblemInstance& problem, DeviceKind device,
                                                    int count, std::uint64_t seed);

}  // namespace ak::codegen
