// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::runtime {

/// What NVML says of a device right now; zeros and an empty string where it is absent or refuses.
struct DeviceCondition {
  int sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0;
  std::string throttle_reasons;  ///< comma-separated: "power cap, thermal"; empty when not throttled
};

/// Reads clocks, temperature, power and throttle reasons through NVML, loaded with dlopen. Changes nothing.
class NvmlProbe {
 public:
  /// @param uuid "GPU-..." as DeviceFacts has it.
  explicit NvmlProbe(const std::string& uuid);
  [[nodiscard]] DeviceCondition read() const;
  /// True while heat or the power supply hold the clocks down. The power cap does not count: reaching it is
  /// how a card runs heavy kernels.
  [[nodiscard]] bool held_down() const;

 private:
  void* device_ = nullptr;  ///< nvmlDevice_t, valid for the process; null: unknown
};

}  // namespace ak::runtime
