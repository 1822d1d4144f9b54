// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/launch_plan.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"

namespace ak::runtime {

/// The driver's descriptor of a tiled tensor map over `buffer`. Errors: an unknown mode or dtype, a rank
/// over 5, a tensor that does not fit the buffer, alignment or sizes the driver refuses; the message
/// names the map.
[[nodiscard]] Result<CUtensorMap> encode_tensor_map(const ResolvedTensorMap& map, BufferView buffer);

}  // namespace ak::runtime
