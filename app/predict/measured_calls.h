// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/prediction/time_model.h"

namespace ak::app {

/// What a performance database knows of times on GPUs: one call for every verified variant, timed workload
/// and device, with cold caches; several measurements of one count as their mean.
struct MeasuredCalls {
  std::vector<profiler::MeasuredCall> calls;
  int left_out = 0;  ///< calls whose plan or definition can no longer be read
};

/// All that `databases`, plain or packed (.gz, .xz), hold for `arch` (e.g. "sm_90a"; empty: all targets), with the
/// exact counts of those variants that the CPU device counted, in whichever of them. Throws Error(bad_input) when they
/// hold no call, Error(database) when a file is unusable.
[[nodiscard]] MeasuredCalls measured_calls(const std::vector<std::filesystem::path>& databases,
                                           const std::string& arch);

}  // namespace ak::app
