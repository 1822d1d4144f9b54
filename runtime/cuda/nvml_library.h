// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::runtime {

/// nvmlEventData_t.
struct NvmlEvent {
  void* device = nullptr;
  unsigned long long type = 0, data = 0;  ///< one nvmlEventType...; of an Xid event its number
  unsigned gpu_instance = 0, compute_instance = 0;
};

/// The functions of NVML that are used, as its reference manual declares them (nvml.h is not part of every
/// toolkit). Each returns 0 or an nvmlReturn_t; null: this version of the library does not have it.
struct NvmlFunctions {
  int (*init)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*by_uuid)(const char* uuid, void** device) = nullptr;
  int (*clock)(void* device, unsigned type, unsigned* mhz) = nullptr;
  int (*temperature)(void* device, unsigned sensor, unsigned* celsius) = nullptr;
  int (*power)(void* device, unsigned* milliwatts) = nullptr;
  int (*power_limit)(void* device, unsigned* milliwatts) = nullptr;
  int (*throttle)(void* device, unsigned long long* reasons) = nullptr;
  int (*memory_errors)(void* device, unsigned type, unsigned counter, unsigned long long* count) = nullptr;
  int (*energy)(void* device, unsigned long long* millijoules) = nullptr;  ///< since the driver was loaded
  int (*event_set_create)(void** set) = nullptr;
  int (*event_set_free)(void* set) = nullptr;
  int (*register_events)(void* device, unsigned long long types, void* set) = nullptr;
  int (*event_wait)(void* set, NvmlEvent* event, unsigned timeout_ms) = nullptr;
};

/// The driver's library, or why there is none.
struct NvmlLibrary {
  NvmlFunctions functions;
  std::string unavailable_reason;  ///< empty: loaded and initialised
};

/// Loaded with dlopen at the first call, for the rest of the process.
[[nodiscard]] const NvmlLibrary& nvml_library();

}  // namespace ak::runtime
