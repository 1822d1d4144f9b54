// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ak::runtime {
namespace {

constexpr unsigned kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr unsigned kGpuSensor = 0;                  // nvmlTemperatureSensors_t
constexpr unsigned kUncorrected = 1;                // nvmlMemoryErrorType_t
constexpr unsigned kVolatile = 0;                   // nvmlEccCounterType_t
constexpr double kMilli = 1e-3;

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

template <class DeviceProperty, class Raw>
Reading<DeviceProperty> scaled(const Reading<Raw>& raw, double unit) {
  if (!raw) return raw.error();
  return static_cast<DeviceProperty>(static_cast<double>(*raw) * unit);
}

template <class DeviceProperty>
DeviceProperty or_nothing(const Reading<DeviceProperty>& reading) {
  return reading ? *reading : DeviceProperty{};
}

}  // namespace

NvmlProbe::NvmlProbe(const std::string& uuid, const NvmlLibrary& library)
    : functions_(library.functions), unavailable_reason_(library.unavailable_reason) {
  if (!unavailable_reason_.empty()) return;
  if (functions_.by_uuid == nullptr) {
    unavailable_reason_ = "this NVML finds no device by its UUID";
  } else if (const int result = functions_.by_uuid(uuid.c_str(), &device_); result != 0) {
    device_ = nullptr;
    unavailable_reason_ = fmt::format("NVML does not know the device: {}", words(result));
  }
}

std::string NvmlProbe::words(int result) const {
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(result);
  return text == nullptr ? fmt::format("error {}", result) : text;
}

template <class Raw, class Function, class... Arguments>
Reading<Raw> NvmlProbe::get(Function* function, const char* what, Arguments... arguments) const {
  if (device_ == nullptr) return Absent{unavailable_reason_};
  if (function == nullptr) return Absent{fmt::format("this NVML does not read the {}", what)};
  Raw value = 0;
  if (const int result = function(device_, arguments..., &value); result != 0)
    return Absent{fmt::format("NVML did not read the {}: {}", what, words(result))};
  return value;
}

Reading<int> NvmlProbe::sm_clock_mhz() const {
  return scaled<int>(get<unsigned>(functions_.clock, "clock of the SMs", kSmClock), 1);
}

Reading<int> NvmlProbe::memory_clock_mhz() const {
  return scaled<int>(get<unsigned>(functions_.clock, "clock of the memory", kMemoryClock), 1);
}

Reading<int> NvmlProbe::temperature_c() const {
  return scaled<int>(get<unsigned>(functions_.temperature, "temperature", kGpuSensor), 1);
}

Reading<double> NvmlProbe::power_w() const {
  return scaled<double>(get<unsigned>(functions_.power, "power"), kMilli);
}

Reading<double> NvmlProbe::power_limit_w() const {
  return scaled<double>(get<unsigned>(functions_.power_limit, "enforced power limit"), kMilli);
}

Reading<double> NvmlProbe::energy_j() const {
  return scaled<double>(get<unsigned long long>(functions_.energy, "energy counter"), kMilli);
}

Reading<std::int64_t> NvmlProbe::memory_errors() const {
  return scaled<std::int64_t>(
      get<unsigned long long>(functions_.memory_errors, "errors of the memory", kUncorrected, kVolatile), 1);
}

Reading<std::string> NvmlProbe::throttle_reasons() const {
  const auto bits = get<unsigned long long>(functions_.throttle, "throttle reasons");
  if (!bits) return bits.error();
  std::string names;
  for (const Reason& reason : kReasons) {
    if ((*bits & reason.bit) == 0) continue;
    if (!names.empty()) names += ", ";
    names += reason.name;
  }
  return names;
}

DeviceCondition NvmlProbe::read() const {
  return {.sm_clock_mhz = or_nothing(sm_clock_mhz()),
          .memory_clock_mhz = or_nothing(memory_clock_mhz()),
          .temperature_c = or_nothing(temperature_c()),
          .power_w = or_nothing(power_w()),
          .throttle_reasons = or_nothing(throttle_reasons())};
}

bool NvmlProbe::held_down() const {
  const auto bits = get<unsigned long long>(functions_.throttle, "throttle reasons");
  return bits && std::any_of(std::begin(kReasons), std::end(kReasons), [&](const Reason& reason) {
           return reason.bit != kPowerCap && (*bits & reason.bit) != 0;
         });
}

}  // namespace ak::runtime
