// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/text/json.h"
#include "emulator/machine/warp.h"

namespace ak::emulator {

/// The calls that a live lane is in, as ops of Program::code, innermost first; empty in the kernel itself.
[[nodiscard]] std::vector<Index> calls_of(const Warp& warp, int lane);

/// "in scale() called at line 41, in outer() called at line 60" for an op that was reached by `calls`; empty
/// without calls. Of many the innermost ones are named, and how many more there are.
[[nodiscard]] std::string describe_calls(const Program& program, Index op, const std::vector<Index>& calls,
                                         const std::string& own_file);
/// A list of {function, file, line, column}: of each call the function that was called, and from where.
[[nodiscard]] Json calls_to_json(const Program& program, Index op, const std::vector<Index>& calls,
                                 const std::string& own_file);

}  // namespace ak::emulator
