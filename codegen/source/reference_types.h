// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/problem.h"

namespace ak::codegen {

/// The types that a reference computes with, as `using` lines: accum_t, out_t (of the first output) and out_t_NAME of
/// every output, also of those that the problem has under other params (docs/problem.md#referencecu).
/// @param exact  the exact reference, else the twin
[[nodiscard]] std::string reference_types(const ProblemInstance& problem, bool exact);

/// reference.cu as a kernel that can be searched from: the twin, its types behind its headers.
[[nodiscard]] std::string twin_as_kernel(const ProblemInstance& problem);

}  // namespace ak::codegen
