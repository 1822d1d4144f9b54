// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/timing/timing.h"

namespace ak::runtime {

/// Counts of a call whose bytes are followed: different bytes of inputs that are read, and of outputs that are written.
inline constexpr const char *kInputBytesRead = "input/bytes_read",
                            *kOutputBytesWritten = "output/bytes_written";

/// Runs a launch sequence once on the CPU device, checked, and gives its estimated cost in place of a time,
/// with its counts: the same numbers whenever the program and `seed` are the same. Errors: whatever a run can
/// end in, at StageId::time; wrong results, at StageId::recheck.
/// @param follow_bytes adds the counts kInputBytesRead and kOutputBytesWritten
[[nodiscard]] Result<Measurement, Outcome> measure_cost(RunContext& run_context, DataStore& store,
                                                        const TimingTarget& target, std::uint64_t seed,
                                                        bool follow_bytes = false);

}  // namespace ak::runtime
