// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/problem.h"

namespace ak::app {

/// The shapes of `problem` that a GPU would time, in its order; not owned.
[[nodiscard]] inline std::vector<const Workload*> predicted_shapes(const ProblemInstance& problem) {
  std::vector<const Workload*> timed;
  for (const Workload& workload : problem.workloads) {
    if (workload.has(WorkloadRole::time) && workload.tier != WorkloadTier::emulator)
      timed.push_back(&workload);
  }
  return timed;
}

}  // namespace ak::app
