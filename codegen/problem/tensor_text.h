// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/definition.h"

namespace ak::codegen {

/// What a tensor is, in words: "float32 [M, N]", "float32, a scalar by value: one of 0.1, 1".
[[nodiscard]] std::string tensor_text(const TensorSpec& tensor);

/// What an axis is: " = 128", " = S - R + 1", or nothing where it varies.
[[nodiscard]] std::string axis_text(const Axis& axis);

}  // namespace ak::codegen
