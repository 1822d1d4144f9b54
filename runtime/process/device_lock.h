// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/text/file.h"

namespace ak::runtime {

/// Turns of the processes that use one GPU: any number check at a time, one times, and then no one checks.
/// A lock on "/tmp/alphakernel-gpu-UUID.lock" ($ALPHAKERNEL_LOCKS names another folder), which the system
/// drops with the process. Programs other than AlphaKernel know nothing of it. One thread.
class DeviceLock {
 public:
  enum class Turn : std::uint8_t { shared, alone };

  /// @param uuid of the device; empty: nothing is locked.
  explicit DeviceLock(const std::string& uuid);

  /// Why processes are not kept apart; empty when they are, or need not be.
  [[nodiscard]] const std::string& unavailable_reason() const noexcept { return unavailable_reason_; }

  /// Waits for the turn, giving up the one it holds.
  /// @param on_wait called when it has to wait, and about once a second from then on.
  void take(Turn turn, const std::function<void()>& on_wait);
  void release() noexcept;

 private:
  FileDescriptor descriptor_;
  std::string unavailable_reason_;
};

/// Gives the turn back at the end of a scope.
class ScopedTurn {
 public:
  ScopedTurn(DeviceLock& lock, DeviceLock::Turn turn, const std::function<void()>& on_wait) : lock_(lock) {
    lock_.take(turn, on_wait);
  }
  ~ScopedTurn() { lock_.release(); }
  ScopedTurn(const ScopedTurn&) = delete;
  ScopedTurn& operator=(const ScopedTurn&) = delete;

 private:
  DeviceLock& lock_;
};

/// The lock of a device, opened once a process: later the process may be confined.
[[nodiscard]] DeviceLock& device_lock(const std::string& uuid);

}  // namespace ak::runtime
