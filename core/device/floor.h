// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "core/plan/work.h"
#include "core/units.h"

namespace ak {

/// The least time that a device can need for a workload.
struct Floor {
  Nanoseconds time = {};
  std::string reason;      ///< the limit in words, with its numbers
  bool computing = false;  ///< operations are that limit, and not memory
  [[nodiscard]] bool known() const { return time > Nanoseconds(0); }
};

/// From data-sheet peaks at the highest clock, less 2 %, with cold caches: reads and what of the writes
/// does not stay in L2 over the bandwidth, operations over the fastest arithmetic that the inputs' types
/// allow. Measured ceilings are no floor: a correct kernel may beat them. Of an architecture that is not
/// known only memory counts.
[[nodiscard]] Floor floor_of(const ProblemInstance& problem, const Workload& workload,
                             const DeviceFacts& device);

/// The same of work that no problem describes, with operands of this type.
[[nodiscard]] Floor floor_of_work(const Work& work, DType dtype, const DeviceFacts& device);

/// Operations per clock per SM of the fastest unit that takes `dtype` (an FMA is two; dense matrices), 0 where
/// not known. float32 counts at tf32's rate: sums of tf32 products can reach its precision.
[[nodiscard]] int peak_operations_per_clock(const Arch& arch, DType dtype);

}  // namespace ak
