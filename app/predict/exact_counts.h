// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/evaluation.h"

namespace ak::app {

/// A copy of `problem` whose workloads are `shapes`, each counted on the CPU device after a check with
/// one distribution; no baselines and no held-out shapes. Shapes that break the definition's constraints
/// are left out.
[[nodiscard]] std::shared_ptr<const ProblemInstance> with_counted_shapes(
    const ProblemInstance& problem, const std::vector<AxisValues>& shapes);

}  // namespace ak::app
