// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/learn/stats.h"
#include "core/text/json.h"

namespace ak {

/// What a time of a call includes (docs/timing.md).
enum class TimeColumn : std::uint8_t {
  device,  ///< launches queued ahead: the GPU's work alone
  wall     ///< from the call to the end of the GPU's work, with the host's gaps, as public boards measure
};
[[nodiscard]] constexpr std::string_view to_string(TimeColumn column) {
  return column == TimeColumn::device ? "device" : "wall";
}

/// A kernel and a baseline that were timed in turns on one workload, cold caches before every call.
struct BaselineTurns {
  std::string workload;
  std::string label;  ///< "cublaslt 13.0.2", "pytorch compile"
  TimeColumn column = TimeColumn::device;
  double ratio = 1;   ///< the baseline's time over the kernel's: above 1 the kernel is faster
  Interval interval;  ///< 95 % of it
  double kernel_ns = 0, baseline_ns = 0;
  std::int64_t rounds = 0;  ///< independent samples of the ratio: rounds of blocks, or pairs of calls
  std::int64_t kernel_late = 0, baseline_late = 0;  ///< samples whose launches were not all queued ahead
  std::optional<std::int64_t> kernel_peak_bytes = {}, baseline_peak_bytes = {};  ///< of device memory
  Json settings = Json::object();  ///< versions, and whether TF32 was on; from another process
};

}  // namespace ak
