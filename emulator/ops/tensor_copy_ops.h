// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/lower/lowering.h"

namespace ak::emulator {

/// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor.
[[nodiscard]] Op lower_tensor_copy(Lowering& lowering);

}  // namespace ak::emulator
