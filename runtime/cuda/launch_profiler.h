// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/profile.h"
#include "runtime/cuda/launch.h"

namespace ak::runtime {

/// A launch sequence that a profiler calls as often as it needs passes.
struct ProfiledCall {
  std::vector<std::string> kernels;  ///< of its launches, in order
  const KernelImage& image;          ///< what they are loaded from
  std::function<void()> load;        ///< loads the program again; has been called once
  /// What a call has to find: inputs and outputs restored, cold caches. Waits. Throws CudaError.
  std::function<void()> prepare;
  /// Makes the launches, and waits. Throws CudaError.
  std::function<void()> run;
};

/// Watches launches with hardware counters. profiler implements it; runtime, which owns the device, does
/// not know how.
class LaunchProfiler {
 public:
  virtual ~LaunchProfiler() = default;
  /// Never throws for what the hardware, the driver or other profilers refuse: the answer's degradation says
  /// what. Throws CudaError for what the call does. The context must be current.
  [[nodiscard]] virtual Profile profile(const ProfileOptions& profile_options, const ProfiledCall& call) = 0;
  /// Why counters cannot be read here; empty when they can. Takes hold of the hardware and lets go of it.
  [[nodiscard]] virtual std::string unavailable_reason() = 0;
  /// Lets go of the hardware: before anything is timed. Taking hold again costs the next profile some 140 ms
  /// (CUPTI 13.0 on an H200).
  virtual void release() = 0;
};

}  // namespace ak::runtime
