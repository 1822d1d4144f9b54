// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/profiler_factory.h"

namespace ak::profiler {

/// Hardware counters and PC samples of the calling thread's context through CUPTI, which is loaded
/// when first used.
[[nodiscard]] std::unique_ptr<runtime::LaunchProfiler> make_launch_profiler(int ordinal);

}  // namespace ak::profiler
