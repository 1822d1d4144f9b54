// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

// Matrices between shared memory and registers, whose rows lie at the lanes' addresses; and between lanes.

[[nodiscard]] std::optional<Op> lower_ldmatrix(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_stmatrix(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_movmatrix(Lowering& lowering);

}  // namespace ak::emulator
