// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// The plan of a finished kernel: the candidate's for this problem and its params, its tunables frozen. Launches
/// that this point does for no shape are left out, with the workspace, tensor maps and names that they alone
/// use; a constraint then keeps the other points from being tried without them. What the others do is the same.
[[nodiscard]] LaunchPlan finished_plan(const ProblemInstance& problem, const Candidate& candidate);

}  // namespace ak::codegen
