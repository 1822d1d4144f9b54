// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

enum class MixedOperation : std::uint8_t { add, sub, fma };

/// add, sub and fma of a half, or two, and an f32 that give an f32 (`fma.rn.f32.bf16`). `half` is
/// f16 or bf16.
[[nodiscard]] std::optional<Op> lower_mixed(Lowering& lowering, MixedOperation operation, Type half);

}  // namespace ak::emulator
