// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/profile.h"
#include "runtime/launch.h"

namespace ak::runtime {

/// A launch sequence that a profiler calls as often as it needs passes.
struct ProfiledCall {
  std::vector<std::string> kernels;  ///< of its launches, in order
  const KernelImage& image;          ///< what they were loaded from
  /// What a call has to find: inputs and outputs restored, cold caches. Waits. Throws CudaError.
  std::function<void()> prepare;
  /// Enqueues the launches, each through `around`, and waits. Throws CudaError.
  std::function<void(const AroundLaunch& around)> run;
};

/// Watches launches with hardware counters. profiler implements it; runtime, which owns the device, does not
/// know how.
class LaunchProfiler {
 public:
  virtual ~LaunchProfiler() = default;
  /// Never throws for what the hardware, the driver or other profilers refuse: the answer's degradation says
  /// what. Throws CudaError for what the call does. The context must be current.
  [[nodiscard]] virtual Profile profile(const ProfileWish& wish, const ProfiledCall& call) = 0;
};

}  // namespace ak::runtime
