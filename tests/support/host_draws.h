// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/plan/input_draw.h"

namespace ak::testing {

// The host's way of drawing inputs, which those of the GPU and of the CPU device are compared with.

/// Fills `bytes` with elements of `dtype`: element i depends on key, draw and i alone. Host, GPU and CPU device
/// agree bit by bit: all compile core/plan/random_values.cuh.
/// @param bytes exactly draw.count * info(dtype).bytes
void fill_random(std::span<std::byte> bytes, DType dtype, std::array<std::uint32_t, 2> key,
                 const ak_random::Draw& draw);

/// As resolve_draw of a vector, for draws without bounds. Asserts that there are none.
[[nodiscard]] ak_random::Draw vector_draw(const InputDraw& draw, DType dtype, std::int64_t count);

}  // namespace ak::testing
