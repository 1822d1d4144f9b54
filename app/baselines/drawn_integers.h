// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/plan/problem.h"
#include "core/text/json.h"

namespace ak::app {

/// Writes what the problem draws for its indices, lengths and offsets (inputs of int32 and int64), for which arbitrary
/// numbers would be illegal: one file of int64 values each, in `folder`, which is made. Drawn as for timing, from the
/// seed 1. Returns {input: path}. Throws Error(internal_error) where a draw cannot be resolved, which the problem's
/// reader has ruled out.
[[nodiscard]] Json write_drawn_integers(const ProblemInstance& problem, const Workload& workload,
                                        const std::filesystem::path& folder);

}  // namespace ak::app
