// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/problem.h"
#include "runtime/reference/reference_process.h"

namespace ak::app {

/// Computes both results of the smallest workload in a fresh reference process that can read nothing of the user's but
/// the problem's folder. Any thread.
/// @param launch the interpreter and its limits; entry and readable folders are set here
/// @param limit for the whole
/// @return what went wrong; empty: nothing. Throws Error(environment) where the process does not start.
[[nodiscard]] std::string rehearse(const ProblemInstance& problem, runtime::ReferenceLaunch launch,
                                   std::chrono::milliseconds limit);

}  // namespace ak::app
