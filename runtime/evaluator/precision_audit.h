// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/outcome.h"
#include "core/plan/problem.h"
#include "emulator/parse/lexer.h"

namespace ak::runtime {

/// Looks for arithmetic and conversions in a lower precision than any tensor or parameter of the problem has:
/// tf32, 16-bit and 8-bit formats where all is float32, 8-bit ones where all has 16 bits, float32 where all
/// is float64. Then, where the inputs are float32 or float64, for arithmetic with data that lost precision on its
/// way, whatever the instructions are called (precision_flow.h); rounding a result to the format of an output is
/// none. Approximate functions in the right format are no downgrade, and moving bytes is not arithmetic.
/// A problem may permit a lower precision inside (Tolerance::internal).
/// Problems with tensors of 8-bit or 16-bit integers leave the choice of formats open. Names the first instruction
/// found. A program that cannot be read is refused, too.
[[nodiscard]] std::optional<Outcome> audit_precision(const ProblemInstance& problem,
                                                     const emulator::TokenizedText& ptx);

}  // namespace ak::runtime
