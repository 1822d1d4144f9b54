// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

/// Lowers a call of a function that the driver provides: vprintf and __assertfail. Operands are .param
/// variables of the caller.
[[nodiscard]] std::optional<Op> device_call(Lowering& lowering, const std::string& name,
                                            const std::vector<Operand>& results,
                                            const std::vector<Operand>& arguments);

}  // namespace ak::emulator
