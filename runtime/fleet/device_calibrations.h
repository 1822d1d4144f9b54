// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/pool.h"

namespace ak::runtime {

/// So often a device of a pool is calibrated. Longer than that takes, so that it costs less than a thousandth of the time.
inline constexpr std::chrono::milliseconds kCalibrationInterval = std::chrono::minutes(10);
/// A GPU whose times are further than this from those of its first calibration rests.
inline constexpr double kMostDrift = 0.01;

/// By what a device is known: a GPU by its UUID, whatever place it is at; a CPU device, or one without a UUID, by its place.
[[nodiscard]] const std::string& name_of_device(const std::string& place, const DeviceFacts& device);

/// What the calibrations of a pool's devices were, and whether another one is like the first. One thread.
class DeviceCalibrations {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit DeviceCalibrations(std::chrono::milliseconds interval = kCalibrationInterval)
      : interval_(interval) {}

  /// What CPU devices have to read, of one that is trusted.
  void expect_cost(const Calibration& exact) { exact_ = exact; }

  /// The device has not been calibrated for as long as the interval, or did not pass the last time.
  [[nodiscard]] bool is_due(const std::string& place, const DeviceFacts& device, TimePoint now) const;
  /// Whatever it passed before, it is due again.
  void distrust(const std::string& place, const DeviceFacts& device);
  /// Keeps a calibration, and says what it means: drift and objection.
  [[nodiscard]] CalibrationRecord judge(std::string place, std::shared_ptr<const DeviceFacts> device,
                                        const Calibration& read, TimePoint now);

 private:
  struct Device {
    Calibration first;
    std::optional<TimePoint> passed = {};  ///< nothing: not the last time
  };

  std::chrono::milliseconds interval_;
  std::optional<Calibration> exact_;
  std::map<std::string, Device> devices_;  ///< by name_of_device()
};

}  // namespace ak::runtime
