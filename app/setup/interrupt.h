// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace ak::app {

/// While it lives, the first SIGINT or SIGTERM sets a flag instead of killing the process, so that a run can
/// write its best kernel; the second one kills as usual. One at a time.
class InterruptGuard {
 public:
  [[nodiscard]] InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  [[nodiscard]] const std::atomic<bool>& requested() const;
};

}  // namespace ak::app
