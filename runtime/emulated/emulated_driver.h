// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/cuda/driver.h"
#include "runtime/emulated/emulated_device.h"

namespace ak::runtime {

/// Makes the CPU this process's CUDA device while it lives: driver() is a table of functions on one
/// EmulatedDevice that replaces a GPU of the target's architecture. One at a time; one thread.
class EmulatedDriver {
 public:
  /// @param sm_count  multiprocessors; 0: as many as the target's product has
  explicit EmulatedDriver(const Arch& target, int sm_count = 0);
  ~EmulatedDriver();
  EmulatedDriver(const EmulatedDriver&) = delete;
  EmulatedDriver& operator=(const EmulatedDriver&) = delete;

  [[nodiscard]] const Arch& target() const noexcept { return target_; }
  [[nodiscard]] int sm_count() const noexcept { return device_->facts().sm_count; }

 private:
  Arch target_;
  std::unique_ptr<EmulatedDevice> device_;
  Driver table_;
  std::optional<ScopedDriver> installed_;
};

}  // namespace ak::runtime
