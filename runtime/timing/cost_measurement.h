// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/timing/timing.h"

namespace ak::runtime {

/// Runs a launch sequence once on the CPU device, checked, and gives its estimated cost in place of a time,
/// with its counts: the same numbers whenever the program and `seed` are the same. Errors: whatever a run can
/// end in, at StageId::time; wrong results, at StageId::recheck.
[[nodiscard]] Result<Measurement, Outcome> measure_cost(RunContext& run_context, DataStore& store,
                                                        const TimingTarget& target, std::uint64_t seed);

}  // namespace ak::runtime
