// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ak::runtime {
namespace {

template <class Function>
void load_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

NvmlFunctions functions_of(void* library) {
  NvmlFunctions table;
  load_symbol(library, "nvmlInit_v2", table.init);
  load_symbol(library, "nvmlErrorString", table.error_string);
  load_symbol(library, "nvmlDeviceGetHandleByUUID", table.by_uuid);
  load_symbol(library, "nvmlDeviceGetClockInfo", table.clock);
  load_symbol(library, "nvmlDeviceGetTemperature", table.temperature);
  load_symbol(library, "nvmlDeviceGetPowerUsage", table.power);
  load_symbol(library, "nvmlDeviceGetEnforcedPowerLimit", table.power_limit);
  load_symbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons", table.throttle);
  load_symbol(library, "nvmlDeviceGetTotalEccErrors", table.memory_errors);
  load_symbol(library, "nvmlDeviceGetTotalEnergyConsumption", table.energy);
  load_symbol(library, "nvmlEventSetCreate", table.event_set_create);
  load_symbol(library, "nvmlEventSetFree", table.event_set_free);
  load_symbol(library, "nvmlDeviceRegisterEvents", table.register_events);
  load_symbol(library, "nvmlEventSetWait_v2", table.event_wait);
  return table;
}

NvmlLibrary load() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return {.functions = {}, .unavailable_reason = "the driver's libnvidia-ml.so.1 is missing"};
  const NvmlFunctions functions = functions_of(library);
  const int result = functions.init == nullptr ? -1 : functions.init();
  if (result != 0)
    return {.functions = {}, .unavailable_reason = fmt::format("NVML did not start (error {})", result)};
  return {.functions = functions, .unavailable_reason = ""};
}

}  // namespace

const NvmlLibrary& nvml_library() {
  static const NvmlLibrary library = load();
  return library;
}

}  // namespace ak::runtime
