// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/outcome.h"
#include "core/plan/problem.h"

namespace ak::runtime {

/// Looks for arithmetic and conversions in a lower precision than any tensor or parameter of the problem has:
/// tf32, 16-bit and 8-bit formats where all is float32, 8-bit ones where all has 16 bits, float32 where all
/// is float64. Approximate functions in the right format are no downgrade, and moving bytes is not arithmetic.
/// Problems with integer tensors leave the choice of formats open. Names the first instruction found.
[[nodiscard]] std::optional<Outcome> audit_precision(const ProblemInstance& problem, std::string_view ptx);

}  // namespace ak::runtime
