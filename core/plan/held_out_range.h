// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ak {

enum class WorkloadTier : std::uint8_t { emulator, gpu, deep };  ///< smallest device class it is meant for

/// Values that an axis of a held-out shape may take: those that are listed, or all multiples from `low` to
/// `high`, both included.
struct AxisRange {
  std::int64_t low = 1, high = 1;
  std::int64_t multiple = 1;              ///< at least 1; at least one multiple lies within the bounds
  std::vector<std::int64_t> values = {};  ///< ascending; where there are any, `low` and `high` are their ends
};

/// Where held-out shapes are drawn from when a search ends: known shapes could be learned, these cannot.
struct HeldOutRange {
  std::string name;
  std::map<std::string, AxisRange, std::less<>> axes;  ///< every varying axis of the definition
  WorkloadTier tier = WorkloadTier::gpu;
  /// Around a shape that a kernel is wanted for: shapes that a candidate's own constraints exclude are not
  /// asked of it.
  bool around_shape = false;
};

}  // namespace ak
