// SPDX-License-Identifier: Apache-2.0
#include "runtime/nvml_probe.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ak::runtime {
namespace {

// The few functions used, as NVML's reference manual declares them; nvml.h is not part of every toolkit.
struct Nvml {
  int (*init)() = nullptr;
  int (*by_uuid)(const char* uuid, void** device) = nullptr;
  int (*clock)(void* device, unsigned type, unsigned* mhz) = nullptr;
  int (*temperature)(void* device, unsigned sensor, unsigned* celsius) = nullptr;
  int (*power)(void* device, unsigned* milliwatts) = nullptr;
  int (*throttle)(void* device, unsigned long long* reasons) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

const Nvml& nvml() {
  static const Nvml loaded = [] {
    Nvml table;
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return table;
    find(library, "nvmlDeviceGetHandleByUUID", table.by_uuid);
    find(library, "nvmlDeviceGetClockInfo", table.clock);
    find(library, "nvmlDeviceGetTemperature", table.temperature);
    find(library, "nvmlDeviceGetPowerUsage", table.power);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", table.throttle);
    find(library, "nvmlInit_v2", table.init);
    if (table.init == nullptr || table.init() != 0) return Nvml{};
    return table;
  }();
  return loaded;
}

constexpr unsigned kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
struct Reason {
  unsigned long long bit;
  std::string_view name;
};
constexpr unsigned long long kPowerCap = 0x4;
constexpr Reason kReasons[] = {{kPowerCap, "power cap"},
                               {0x8, "hardware slowdown"},
                               {0x20, "software thermal"},
                               {0x40, "hardware thermal"},
                               {0x80, "power brake"}};

int clock_mhz(void* device, unsigned type) {
  unsigned mhz = 0;
  if (nvml().clock == nullptr || nvml().clock(device, type, &mhz) != 0) return 0;
  return static_cast<int>(mhz);
}

unsigned long long reason_bits(void* device) {
  unsigned long long bits = 0;
  if (nvml().throttle == nullptr || nvml().throttle(device, &bits) != 0) return 0;
  return bits;
}

double power_w(void* device) {
  unsigned milliwatts = 0;
  if (nvml().power == nullptr || nvml().power(device, &milliwatts) != 0) return 0;
  return milliwatts / 1e3;
}

std::string reasons_of(void* device) {
  const unsigned long long bits = reason_bits(device);
  std::string names;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    if (!names.empty()) names += ", ";
    names += reason.name;
  }
  return names;
}

}  // namespace

NvmlProbe::NvmlProbe(const std::string& uuid) {
  if (nvml().by_uuid == nullptr || nvml().by_uuid(uuid.c_str(), &device_) != 0) device_ = nullptr;
}

DeviceCondition NvmlProbe::read() const {
  if (device_ == nullptr) return {};
  unsigned celsius = 0;
  if (nvml().temperature == nullptr || nvml().temperature(device_, 0, &celsius) != 0) celsius = 0;
  return {.sm_clock_mhz = clock_mhz(device_, kSmClock),
          .memory_clock_mhz = clock_mhz(device_, kMemoryClock),
          .temperature_c = static_cast<int>(celsius),
          .power_w = power_w(device_),
          .throttle_reasons = reasons_of(device_)};
}

bool NvmlProbe::held_down() const {
  if (device_ == nullptr) return false;
  const unsigned long long bits = reason_bits(device_);
  return std::any_of(std::begin(kReasons), std::end(kReasons), [&](const Reason& reason) {
    return reason.bit != kPowerCap && (bits & reason.bit) != 0;
  });
}

}  // namespace ak::runtime
