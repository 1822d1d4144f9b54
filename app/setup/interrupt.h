// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace ak::app {

/// While it lives, the first SIGINT or SIGTERM sets a flag instead of killing the process, so that a run can
/// write its best kernel. A second SIGINT kills as usual; SIGTERM is what programs send, several of them at once where
/// Slurm ends a job, and who means more by it sends SIGKILL. One at a time.
class InterruptGuard {
 public:
  [[nodiscard]] InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  [[nodiscard]] const std::atomic<bool>& requested() const;
};

}  // namespace ak::app
