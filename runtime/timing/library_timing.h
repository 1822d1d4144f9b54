// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/timing/timing.h"

namespace ak::runtime {

struct LibraryTiming {
  std::vector<Measurement> measurements;  ///< role baseline, labelled with the library and its version
  std::string note;  ///< one line: how exact its results are, or why there is no baseline
};

/// Times a library's best proposal for every workload of `task` that is timed; an absent library, one that
/// does not do the operation, and wrong results are notes. What the library holds is released at the end.
/// Throws CudaError when the device is lost.
[[nodiscard]] LibraryTiming time_library(const std::string& name, Timer& timer, RunContext& run_context,
                                         const DeviceTask& task);

struct LibraryPairs {
  std::vector<Measurement>
      measurements;               ///< of each workload the kernel's, then the library's; samples in pairs
  std::string note;               ///< as LibraryTiming::note
  std::optional<Outcome> failed;  ///< of the kernel
};

/// Times a kernel in pairs with a library's fastest proposal, on every workload of `task` that is timed. Notes and
/// exceptions as above.
/// @param kernel_on  what is timed on a workload
[[nodiscard]] LibraryPairs time_pairs_with_library(
    const std::string& name, Timer& timer, RunContext& run_context, const DeviceTask& task,
    const std::function<TimingTarget(const WorkloadTask&)>& kernel_on);

}  // namespace ak::runtime
