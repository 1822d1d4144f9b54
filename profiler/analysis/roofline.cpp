// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/roofline.h"

#include "core/error.h"
#include "core/learn/stats.h"

namespace ak::profiler {
double weighted_time_ns(const ProblemInstance& problem, const std::function<double(const Work&)>& time_ns) {
  std::vector<double> times, weights;
  for (const Workload& workload : problem.workloads) {
    if (!workload.has(WorkloadRole::time)) continue;
    const Result<Work> work = work_of(problem, workload);
    if (!work) fail(ExitCode::bad_input, "{}", work.error().message);
    times.push_back(time_ns(*work));
    weights.push_back(workload.weight);
  }
  if (times.empty()) fail(ExitCode::usage, "{} has no timed workload", problem.definition.name);
  return weighted_geometric_mean(times, weights);
}

std::optional<double> memory_floor_ns(const ProblemInstance& problem, const DeviceFacts& device) {
  const Bandwidth peak = device.peak_bandwidth();
  if (peak.none()) return std::nullopt;
  return weighted_time_ns(problem, [&](const Work& work) { return (Bytes(work.bytes) / peak).value(); });
}

}  // namespace ak::profiler
