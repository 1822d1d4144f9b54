// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "profiler/cupti/metric_host.h"
#include "runtime/cuda/launch_profiler.h"

namespace ak::profiler {

/// Hardware counters of every launch of a sequence (a range a kernel), which is prepared and run once a pass,
/// so that every pass finds the same memory and cold caches. Left to itself (kernel replay) CUPTI runs all
/// passes but the first on what it has just restored: an occupancy of 109 % came of that. Ranges of our own
/// around launches took twice the kernel's time on an H200, at less than its clocks; these take its time.
/// Counters are held from the first measure() in one pass to release(), since taking hold of them costs ten
/// passes' time. One thread.
class RangeProfiler {
 public:
  /// Throws CuptiError: no rights, another profiler, a device that cannot.
  RangeProfiler(const CuptiApi& api, CUcontext context, int ordinal);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// Fills the launches' metrics, passes, times, and what the chip does not have. Throws CuptiError;
  /// CudaError of the call.
  void measure(const std::vector<std::string>& metrics, const runtime::ProfiledCall& call, Profile& profile);

  /// As for a measurement of the least there is. Throws CuptiError.
  void take_hold();
  /// Gives the counters back until the next measure().
  void release();

 private:
  class Session;
  struct Prepared {
    std::vector<std::string> wanted, metrics, missing;
    std::vector<std::uint8_t> configuration;
  };
  const Prepared& prepare(const std::vector<std::string>& wanted);
  void collect(const Prepared& prepared, const runtime::ProfiledCall& call, Profile& profile);

  const CuptiApi& api_;
  CUcontext context_;
  std::optional<MetricHost> host_;
  std::unique_ptr<Session> session_;  ///< while the counters are held, for prepared_
  std::optional<Prepared> prepared_;  ///< of the metrics asked for last
};

}  // namespace ak::profiler
