// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/floor.h"
#include "core/error.h"
#include "core/learn/stats.h"

namespace ak::runtime {
namespace {

const Workload& workload_of(const EvaluationJob& job, const Measurement& measurement) {
  const auto found = std::ranges::find_if(
      job.plans, [&](const WorkloadPlan& plan) { return plan.workload->name == measurement.workload; });
  AK_ASSERT(found != job.plans.end(), "a device answers for the workloads of its task");
  return *found->workload;
}

/// What lies in a cache may be read faster; a champion has passed here before.
bool decides(const Measurement& measurement) {
  return measurement.role == MeasurementRole::candidate && measurement.cold;
}

}  // namespace

std::optional<Outcome> faster_than_possible(const EvaluationJob& job, const DeviceFacts& device) {
  if (!gate_enabled(Gate::floor)) return std::nullopt;
  for (const Measurement& measurement : job.result.measurements) {
    if (!decides(measurement)) continue;
    const Floor floor = floor_of(*job.request.problem, workload_of(job, measurement), device);
    if (Nanoseconds(measurement.median_ns) >= floor.time) continue;
    return Outcome{
        .status = Status::below_floor,
        .stage = StageId::verdict,
        .message = fmt::format(
            "{:.4g} us on workload {} is less than the hardware can need: {:.4g} us for {}. "
            "Either work is left "
            "out, or the problem's flops, bytes_read or bytes_written say too much",
            measurement.median_ns / 1e3, measurement.workload, floor.time.value() / 1e3, floor.reason),
        .diagnostics = {},
        .gate = Gate::floor};
  }
  return std::nullopt;
}

std::optional<double> score_of(const EvaluationJob& job) {
  std::vector<double> medians, weights;
  for (const Measurement& measurement : job.result.measurements) {
    if (!decides(measurement)) continue;
    medians.push_back(measurement.median_ns);
    weights.push_back(workload_of(job, measurement).weight);
  }
  if (medians.empty() || *std::min_element(medians.begin(), medians.end()) <= 0) return std::nullopt;
  return weighted_geometric_mean(medians, weights);
}

}  // namespace ak::runtime
