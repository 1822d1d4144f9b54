// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "codegen/problem/held_out.h"

namespace ak::codegen {
namespace {

// Together the axes of a small shape span so many points at most: seconds on the CPU device (chosen).
constexpr double kSmallPoints = 65'536;

/// From a quarter below to an eighth above, and one more at least: other remainders of every tile, and about the
/// memory that the shape itself takes.
HeldOutRange neighbours(const AxisValues& shape) {
  HeldOutRange range{.name = "neighbours", .axes = {}, .tier = WorkloadTier::gpu, .around_shape = true};
  for (const auto& [axis, size] : shape)
    range.axes[axis] = {.low = std::max<std::int64_t>(1, size - size / 4),
                        .high = size + std::max<std::int64_t>(1, size / 8)};
  return range;
}

HeldOutRange small_shapes(const AxisValues& shape) {
  HeldOutRange range{.name = "small", .axes = {}, .tier = WorkloadTier::emulator, .around_shape = true};
  const double each =
      std::pow(kSmallPoints, 1.0 / static_cast<double>(std::max<std::size_t>(1, shape.size())));
  for (const auto& [axis, size] : shape)
    range.axes[axis] = {.low = 1, .high = std::min(size, std::int64_t{std::llround(each)})};
  return range;
}

}  // namespace

std::vector<HeldOutRange> ranges_around(const ProblemInstance& problem, const AxisValues& shape) {
  std::vector<HeldOutRange> ranges{neighbours(shape)};
  for (HeldOutRange range : problem.held_out) {
    if (range.tier != WorkloadTier::emulator) continue;
    range.around_shape = true;
    ranges.push_back(std::move(range));
  }
  if (ranges.size() == 1) ranges.push_back(small_shapes(shape));
  return ranges;
}

}  // namespace ak::codegen
