// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "profiler/cupti/metric_host.h"
#include "runtime/launch_profiler.h"

namespace ak::profiler {

/// Hardware counters of the launches of a sequence, each a range of its own. The sequence is run again for
/// every pass, on memory that the caller restores and with cold caches: replaying single kernels, as CUPTI
/// can, would save and restore memory for each and leave caches as the restoring left them. Counters are held
/// only while a profile is taken, so times measured before and after are not touched. One thread.
class RangeProfiler {
 public:
  /// Throws CuptiError: no rights, another profiler, a device that cannot.
  RangeProfiler(const CuptiApi& api, CUcontext context, int ordinal);

  /// Fills the launches' metrics, passes, times, and what the chip does not have. Throws CuptiError;
  /// CudaError of the call.
  void measure(const std::vector<std::string>& metrics, const runtime::ProfiledCall& call, Profile& profile);

 private:
  struct Prepared {
    std::vector<std::string> wanted, metrics, missing;
    std::vector<std::uint8_t> configuration;
  };
  const Prepared& prepare(const std::vector<std::string>& wanted);

  const CuptiApi& api_;
  CUcontext context_;
  std::optional<MetricHost> host_;
  std::optional<Prepared> prepared_;  ///< of the metrics asked for last
};

}  // namespace ak::profiler
