// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include "core/device/arch.h"
#include "core/device/device_facts.h"
#include "emulator/machine/emulator.h"
#include "runtime/emulated/emulated_module.h"

namespace ak::runtime {

/// The emulator's request for a driver launch: dimensions, attributes and arguments; options are left alone.
/// @param request filled when the result is success; else the driver's code for what is wrong
/// with the launch.
[[nodiscard]] CUresult read_launch(const CUlaunchConfig& config, const EmulatedFunction& function,
                                   void** arguments, const DeviceFacts& device,
                                   emulator::LaunchRequest& request);

/// Whether a launch may begin before the one before it has ended (programmatic dependent launch).
[[nodiscard]] bool may_begin_early(const CUlaunchConfig& config);

/// Clusters of a launch that fit on the device at once; on the CPU device one, or none where it is too large.
[[nodiscard]] CUresult max_active_clusters(int& clusters, const CUlaunchConfig& config,
                                           const EmulatedFunction& function, const DeviceFacts& device);

/// The code a GPU's driver gives for such a fault, or the nearest to it where a GPU would not notice.
[[nodiscard]] CUresult result_of(emulator::FaultKind kind);

}  // namespace ak::runtime
