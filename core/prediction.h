// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/units.h"

namespace ak {

/// A time predicted for one workload, with the interval that holds nine of ten measurements by what was seen
/// when the model was fitted.
struct PredictedTime {
  std::string workload;
  Nanoseconds time = {}, low = {}, high = {};
  std::string limiter;  ///< the analytic term that dominates: "dram", "tensor", "launch", ...
};

/// The score predicted for a candidate: weighted geometric mean over the timed workloads.
struct PredictedScore {
  std::string model;  ///< what predicted it, e.g. "sm_90a_h200@1f0c2d3e plan"
  Nanoseconds score = {}, low = {}, high = {};
  std::vector<PredictedTime> times;
};

}  // namespace ak
