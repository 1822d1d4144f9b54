// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/device/device_facts.h"
#include "profiler/prediction/call_facts.h"

namespace ak::profiler {

/// How long one part of the hardware is busy with a call when nothing else limits it.
struct TimeTerm {
  std::string_view
      name;  ///< "dram", "l2", "latency", "shared", "issue", "fp32", "special", "tensor", "waves"
  double time_ns = 0;
};

/// A time from rates alone: launches plus a norm of the terms, from nearly their sum where one block has an
/// SM for itself to nearly the largest where many overlap. Never falls when work of the same kind grows.
struct AnalyticTime {
  double total_ns = 0, launch_ns = 0;
  std::vector<TimeTerm> terms;  ///< always all of them in the same order; 0: nothing known of that part
  double imbalance = 1;  ///< blocks of the busiest SM over the mean of all SMs; in the terms of the SMs

  [[nodiscard]] std::string_view limiter() const;  ///< name of the largest, "launch" included
};

/// From the facts of a call with cold caches. With counts every term is known, else those that follow from
/// the problem's formulas and the launch geometry. Rates of a device that says none are its architecture's.
[[nodiscard]] AnalyticTime analytic_time(const CallFacts& facts, const DeviceFacts& device);

/// The rates used, of the whole device.
struct DeviceRates {
  double sm_count = 1, clock_ghz = 1, dram_gbps = 1;
  double fp32_lanes = 128;  ///< of an SM
  double l2_bytes = 0;
};
[[nodiscard]] DeviceRates device_rates(const DeviceFacts& device);

}  // namespace ak::profiler
