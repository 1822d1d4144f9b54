// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "profiler/prediction/call_facts.h"

namespace ak::profiler {

/// Exact counts of one call on a shape that was emulated.
struct CountedCall {
  CallFacts facts;  ///< of the plan on that shape
  Counts counts;
};

/// Counts of a larger shape.
struct ExtrapolatedCounts {
  Counts counts;
  /// Largest relative error of instructions, sectors and wavefronts when the largest counted shape is
  /// extrapolated from the others; nothing with fewer than three shapes.
  std::optional<double> check_error;
  /// How far apart, relative to the least, the sums of parts end that explain the same instructions, sectors or
  /// wavefronts about as well: 0 where the counted shapes determine how counts grow.
  double ambiguity = 0;
};

/// Every count taken as a sum of a part that grows with the blocks, one with the least bytes and one with the
/// operations of the problem's formulas, none negative: what kernels do that give every block the same share,
/// or loop over their shares. Uses those of `counted` that launch the same kernels as `target`; nothing when
/// there are none.
[[nodiscard]] std::optional<ExtrapolatedCounts> extrapolate_counts(std::span<const CountedCall> counted,
                                                                   const CallFacts& target);

/// Shapes to count at in place of `axes`: the axes halved (keeping remainders by powers of two, on which
/// vector widths depend) until the CPU device can run them in a moment, first those that only make fewer
/// blocks; and around it one shape for every axis that was reduced and one for all of them, so that growth
/// can be known and checked. Only `axes` itself where it is small.
[[nodiscard]] std::vector<AxisValues> reduced_shapes(const ProblemInstance& problem,
                                                     const Candidate& candidate, const AxisValues& axes,
                                                     const DeviceFacts& device, const Arch& arch);

}  // namespace ak::profiler
