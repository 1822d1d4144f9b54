// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/device/device_facts.h"
#include "runtime/cuda/driver.h"

namespace ak::runtime {

/// Initialises the driver and describes its devices. Throws Error(environment) when there is no driver
/// or no device.
[[nodiscard]] std::vector<DeviceFacts> describe_devices();

/// The primary context of one device, current on the thread that made it, with limits that keep candidates
/// from flooding memory with printf or malloc. Released when it ends; one at a time.
class DeviceContext {
 public:
  explicit DeviceContext(int ordinal);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const DeviceFacts& facts() const noexcept { return facts_; }

 private:
  int ordinal_;
  CUdevice device_ = 0;
  DeviceFacts facts_;
};

}  // namespace ak::runtime
