// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cupti/cupti_api.h"
#include "runtime/cuda/launch_profiler.h"

namespace ak::profiler {

/// When each launch of one call ran, from CUPTI's activity records: time stamps of the GPU, without counters
/// and without replaying. Adds to every launch
///   timeline/duration  ns from its start to its end
///   timeline/gap       ns from the end of the launch before to its start; negative where they overlap;
///                      not of the first
/// Counters must not be held. Throws CuptiError; CudaError of the call. One thread at a time in a process:
/// CUPTI's callbacks know no caller.
void add_timeline(const CuptiApi& api, const runtime::ProfiledCall& call, Profile& profile);

}  // namespace ak::profiler
