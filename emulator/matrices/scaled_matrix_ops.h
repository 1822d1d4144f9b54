// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

// mma with a `.kind`: elements of 8, 6 and 4 bits, and products with a scale for each block of a row or column.

[[nodiscard]] bool names_kind(const Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_mma_of_kind(Lowering& lowering);

}  // namespace ak::emulator
