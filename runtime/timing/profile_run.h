// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/launch_profiler.h"
#include "runtime/timing/timing.h"

namespace ak::runtime {

struct ProfileTask {
  const WorkloadLayout& workload;
  const ResolvedPlan& plan;
  const KernelImage& image;
  const ProfileOptions& profile_options;
  std::uint64_t seed = 0;  ///< of the inputs
};

/// Profiles the launches of one call on one set of inputs, restored and with a cold L2 as when it is timed;
/// apart from all timing. Errors: whatever a run can end in, at StageId::profile.
[[nodiscard]] Result<Profile, Outcome> profile_workload(RunContext& run_context, DataStore& store,
                                                        const Timer& timer, LaunchProfiler& profiler,
                                                        const ProfileTask& task);

}  // namespace ak::runtime
