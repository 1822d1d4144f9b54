// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ak {

/// A time predicted for one workload, with the interval that holds nine of ten measurements by what was seen
/// when the model was fitted.
struct PredictedTime {
  std::string workload;
  double time_ns = 0, low_ns = 0, high_ns = 0;
  std::string limiter;  ///< the analytic term that dominates: "dram", "tensor", "launch", ...
};

/// The score predicted for a candidate: weighted geometric mean over the timed workloads.
struct PredictedScore {
  std::string model;  ///< what predicted it, e.g. "sm_90a_h200@1f0c2d3e plan"
  double score_ns = 0, low_ns = 0, high_ns = 0;
  std::vector<PredictedTime> times;
};

}  // namespace ak
