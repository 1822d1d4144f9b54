// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cupti/cupti_api.h"
#include "runtime/cuda/launch_profiler.h"

namespace ak::profiler {

/// Where warps are and what they wait for, sampled by the hardware while the sequence runs, on lines of the
/// candidate's file. Sampling is on only while a call is sampled. One thread.
class PcSampler {
 public:
  PcSampler(const CuptiApi& api, CUcontext context) : api_(api), context_(context) {}

  /// Fills the launches' lines; launches of one kernel share what was seen of it. Throws CuptiError;
  /// CudaError of the call.
  void sample(const runtime::ProfiledCall& call, Profile& profile);

 private:
  const CuptiApi& api_;
  CUcontext context_;
};

}  // namespace ak::profiler
