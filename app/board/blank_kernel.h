// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/problem.h"

namespace ak::app {

/// A kernel that takes what the problem has and computes nothing, so that it is right nowhere. A model begins with it where
/// there is no other: it shows a launch plan, and how inputs and outputs come.
[[nodiscard]] std::string blank_kernel(const ProblemInstance& problem);

}  // namespace ak::app
