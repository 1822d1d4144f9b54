// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace ak::runtime
