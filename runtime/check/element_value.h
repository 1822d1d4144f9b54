// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/plan/dtype.h"

namespace ak::runtime {

/// The element of `dtype` whose bytes begin at `at`; integers beyond 2^53 are rounded.
[[nodiscard]] double element_value(const std::byte* at, DType dtype);

/// Writes the element of `dtype` nearest to `value`; integers are rounded, and must hold it.
void set_element(std::byte* at, DType dtype, double value);

}  // namespace ak::runtime
