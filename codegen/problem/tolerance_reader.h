// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/problem.h"
#include "core/text/json_reader.h"

namespace ak::codegen {

/// Reads the key `tolerance` of problem.json (docs/problem.md#tolerance). @param instance has its definition,
/// params and distributions. Throws JsonInputError naming the field.
[[nodiscard]] Tolerance read_tolerance(const JsonReader& at, const ProblemInstance& instance);

}  // namespace ak::codegen
