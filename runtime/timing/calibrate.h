// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "core/device/calibration.h"
#include "core/device/device_facts.h"

namespace ak::runtime {

/// Times the fixed program of calibrations on a device of this process: multiplications in registers, and a copy that no
/// cache holds. On the CPU device, whose driver has to be installed, its exact cost. Waits for its turn on a GPU.
/// @param on_wait called about once a second meanwhile
/// Throws CudaError.
[[nodiscard]] Calibration calibrate(DeviceKind kind, int ordinal, const std::function<void()>& on_wait);

}  // namespace ak::runtime
