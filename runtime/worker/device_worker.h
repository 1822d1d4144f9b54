// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/cuda/profiler_factory.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {

/// Resident memory at which a device worker ends. There is no limit of its address space, since CUDA reserves
/// far more than it uses. A GPU's worker with the vendor's libraries uses 2 to 3 GB; on the CPU device the
/// device's own 8 GiB are in it, and as much again is left for what the checker keeps about them.
inline constexpr std::size_t kDeviceWorkerBytes = std::size_t{16} << 30;

struct DeviceServiceOptions {
  std::size_t resident_bytes = kDeviceWorkerBytes;
  RequestHandler other = nullptr;  ///< answers other requests, for tests; they fail when there is none
  MakeLaunchProfiler make_profiler = nullptr;  ///< null: nothing can be profiled
  /// A program that watches the worker's kernels speaks through it with itself, by calls that the sandbox
  /// refuses, and says that all is well when it cannot (seen with compute-sanitizer 2025.3).
  bool confined = true;
};

/// Serves one device until the channel closes or the device is lost (docs/device_messages.md): "describe",
/// "open" and "evaluate". Confines the process at the first "open", when the device is up. Returns the
/// process's exit code.
int serve_device(WorkerChannel& channel, const DeviceServiceOptions& options);

}  // namespace ak::runtime
