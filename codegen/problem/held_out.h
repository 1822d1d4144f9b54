// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "core/result.h"

namespace ak::codegen {

/// A range of which a hundredth of the draws leads to a shape fails with a chance of e^-10.
inline constexpr std::uint32_t kMaxShapeDraws = 1'000;

/// What is wanted of a shape in addition to the definition's constraints.
struct ShapeWishes {
  std::uint32_t draws = kMaxShapeDraws;      ///< after so many without a shape there is none
  Environment known = {};                    ///< for `constraints`: tunables, facts of a device
  std::vector<Expression> constraints = {};  ///< those that mention other names are left out
  std::function<bool(const AxisValues&)> accepts = nullptr;  ///< null: every shape
};

/// A shape from `range` that satisfies the definition's constraints: of every axis each octave is as likely
/// as the next, and so are the sizes in an octave and listed values; then each axis takes the nearest size that
/// the constraints allow, given the axes before it. A function of seed and `index` alone, the same on every
/// machine (integer arithmetic). An error when all draws led to no shape; of a range that is one shape there is one draw.
[[nodiscard]] Result<AxisValues> draw_shape(const ProblemInstance& problem, const HeldOutRange& range,
                                            std::uint64_t seed, std::uint32_t index,
                                            const ShapeWishes& wishes = {});

/// `count` shapes to check, named "held_out_1", "held_out_2", ...: drawn in rotation from the ranges for
/// `device`, which are those of tier emulator for the emulator and all except tier deep for others. Empty when
/// there is no such range; fewer where a range around a shape has none that is wanted. Throws Error(bad_input)
/// naming another range from which no shape could be drawn.
[[nodiscard]] std::vector<Workload> sample_held_out(const ProblemInstance& problem, DeviceKind device,
                                                    int count, std::uint64_t seed,
                                                    const ShapeWishes& wishes = {});

/// The same, to time kernels on: for a GPU from ranges of tier emulator only where there are no others, as they are as small
/// as the CPU device wants them.
[[nodiscard]] std::vector<Workload> sample_to_time(const ProblemInstance& problem, DeviceKind device,
                                                   int count, std::uint64_t seed);

/// Ranges around the shape that a kernel is wanted for: its neighbours, for a GPU, and small ones, which are the
/// problem's own where it has ranges for the CPU device.
[[nodiscard]] std::vector<HeldOutRange> ranges_around(const ProblemInstance& problem,
                                                      const AxisValues& shape);

}  // namespace ak::codegen
