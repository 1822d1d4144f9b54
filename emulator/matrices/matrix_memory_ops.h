// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/lower/lowering.h"

namespace ak::emulator {

// Fragments of wmma between memory and registers.

[[nodiscard]] std::optional<Op> lower_wmma_load(Lowering& lowering);
[[nodiscard]] std::optional<Op> lower_wmma_store(Lowering& lowering);

/// Whether wmma has this shape for a matrix of this type (PTX ISA 9.0, 9.7.14.3).
struct MatrixShape;
[[nodiscard]] bool is_wmma_shape(const MatrixShape& shape, Type element);

}  // namespace ak::emulator
