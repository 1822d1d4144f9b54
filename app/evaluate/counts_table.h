// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/evaluation.h"

namespace ak::app {

/// What the CPU device counted for the candidate, a column a workload: instructions by class, memory traffic,
/// conflicts, divergence. Empty when nothing was counted.
[[nodiscard]] std::string counts_table(const EvaluationResult& result);

}  // namespace ak::app
