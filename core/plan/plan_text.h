// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/launch_plan.h"

namespace ak {

/// A plan as a candidate's file has it: JSON with a line for each entry, without what a reader of plans assumes
/// anyway. Reading it gives the same plan.
[[nodiscard]] std::string plan_text(const LaunchPlan& plan);

}  // namespace ak
