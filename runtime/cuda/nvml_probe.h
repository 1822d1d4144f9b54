// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "runtime/cuda/nvml_library.h"

namespace ak::runtime {

/// Why NVML gives no figure, in words.
struct Absent {
  std::string reason;
};
template <class DeviceProperty>
using Reading = Result<DeviceProperty, Absent>;

/// What NVML says of a device right now; zeros and an empty string where it is absent or refuses.
struct DeviceCondition {
  int sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0;
  std::string throttle_reasons;  ///< comma-separated: "power cap, thermal"; empty when not throttled
};

/// Reads a device's clocks, temperature, power, energy and throttle reasons through NVML. Changes nothing.
class NvmlProbe {
 public:
  /// @param uuid "GPU-..." as DeviceFacts has it. `library` must outlive it.
  explicit NvmlProbe(const std::string& uuid, const NvmlLibrary& library = nvml_library());

  [[nodiscard]] Reading<int> sm_clock_mhz() const;
  [[nodiscard]] Reading<int> memory_clock_mhz() const;
  [[nodiscard]] Reading<int> temperature_c() const;
  [[nodiscard]] Reading<double> power_w() const;
  /// What the driver holds the power to, whoever set it.
  [[nodiscard]] Reading<double> power_limit_w() const;
  /// Of the whole device since the driver was loaded; moves on every 20 to 100 ms.
  [[nodiscard]] Reading<double> energy_j() const;
  /// Uncorrected errors of memory with ECC since the driver was loaded.
  [[nodiscard]] Reading<std::int64_t> memory_errors() const;
  /// Comma-separated, empty when the clocks are not held down.
  [[nodiscard]] Reading<std::string> throttle_reasons() const;

  [[nodiscard]] DeviceCondition read() const;
  /// True while heat or the power supply hold the clocks down. The power cap does not count: reaching it is
  /// how a card runs heavy kernels.
  [[nodiscard]] bool held_down() const;

 private:
  template <class Raw, class Function, class... Arguments>
  [[nodiscard]] Reading<Raw> get(Function* function, const char* what, Arguments... arguments) const;
  [[nodiscard]] std::string words(int result) const;

  const NvmlFunctions& functions_;
  void* device_ = nullptr;          ///< nvmlDevice_t, valid for the process; null: unknown
  std::string unavailable_reason_;  ///< why it is
};

}  // namespace ak::runtime
