// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {

/// More than a cluster lends to one run; a typo does not start thousands of processes (chosen).
inline constexpr int kMostPoolDevices = 256;

/// Devices that a search spreads candidates over, all of one kind; the first decides (docs/fleet.md).
struct PoolDevices {
  DeviceKind kind = DeviceKind::cuda;
  std::vector<runtime::DevicePlace> places;
  int confirm = 1;            ///< devices that have to agree about a champion
  bool cpu_fallback = false;  ///< where all its GPUs are gone, a search goes on with the CPU device
};

/// The GPU `ordinal` of this machine.
[[nodiscard]] runtime::DevicePlace local_gpu(int ordinal);
/// All GPUs of this machine. Throws Error(environment) with the driver's reason when there is none.
[[nodiscard]] std::vector<runtime::DevicePlace> local_gpus();

/// An entry of a pool file that is well written, and has no device all the same.
struct PoolFault {
  std::string entry;  ///< "devices[2]"
  std::string why;
};

/// The devices of a pool file. @param faults takes what Error(environment) would be thrown for; null: it is. Throws Error(bad_input) naming the file, the key and what was expected; as
/// local_gpus() does where the file has all GPUs of this machine.
[[nodiscard]] PoolDevices read_pool(const std::filesystem::path& file,
                                    std::vector<PoolFault>* faults = nullptr);

}  // namespace ak::app
