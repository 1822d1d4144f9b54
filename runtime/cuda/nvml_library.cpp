// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ak::runtime {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

NvmlFunctions functions_of(void* library) {
  NvmlFunctions table;
  find(library, "nvmlInit_v2", table.init);
  find(library, "nvmlErrorString", table.error_string);
  find(library, "nvmlDeviceGetHandleByUUID", table.by_uuid);
  find(library, "nvmlDeviceGetClockInfo", table.clock);
  find(library, "nvmlDeviceGetTemperature", table.temperature);
  find(library, "nvmlDeviceGetPowerUsage", table.power);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", table.power_limit);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", table.throttle);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", table.energy);
  return table;
}

NvmlLibrary load() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {.functions = {}, .absence = "the driver's libnvidia-ml.so.1 is not there"};
  const NvmlFunctions functions = functions_of(library);
  const int result = functions.init == nullptr ? -1 : functions.init();
  if (result != 0) return {.functions = {}, .absence = fmt::format("NVML did not start (error {})", result)};
  return {.functions = functions, .absence = ""};
}

}  // namespace

const NvmlLibrary& nvml_library() {
  static const NvmlLibrary library = load();
  return library;
}

}  // namespace ak::runtime
