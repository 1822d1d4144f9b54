// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/problem.h"

namespace ak {

/// Least work of one call on one workload, from the problem's formulas.
struct Work {
  double flops = 0;
  double bytes = 0;          ///< read and written
  double bytes_written = 0;  ///< part of it
};
/// Refuses, naming the formula, when one cannot be evaluated.
[[nodiscard]] Result<Work> work_of(const ProblemInstance& problem, const Workload& workload);

}  // namespace ak
