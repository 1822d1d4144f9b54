// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

// Lowering of instructions about addresses and caches that touch no memory (address_ops.cpp).

[[nodiscard]] std::optional<Op> lower_cvta(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_isspacep(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_mapa(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_getctarank(Lowering& lowering);
/// prefetch, prefetchu, applypriority, discard: caches are not modelled, so they do nothing.
[[nodiscard]] std::optional<Op> lower_cache_control(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_createpolicy(Lowering& lowering);
/// fence and membar.
[[nodiscard]] std::optional<Op> lower_fence(Lowering& lowering);

}  // namespace ak::emulator
