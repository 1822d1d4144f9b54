// SPDX-License-Identifier: Apache-2.0
#include "core/device/energy_metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/work.h"

namespace ak {
namespace {

Work work_on(const ProblemInstance& problem, const std::string& name) {
  const auto workload = std::ranges::find(problem.workloads, name, &Workload::name);
  if (workload == problem.workloads.end()) return {};
  const Result<Work> work = work_of(problem, *workload);
  return work ? *work : Work{};
}

}  // namespace

std::vector<EnergyMetric> energy_metrics(const ProblemInstance& problem, const Measurement& measurement) {
  if (!measurement.energy || measurement.energy->joule <= 0) return {};
  const Energy& energy = *measurement.energy;
  const Work work = work_on(problem, measurement.workload);
  std::vector<EnergyMetric> metrics{{"energy/joule", "J", energy.joule},
                                    {"energy/power", "W", energy.power_w},
                                    {"energy/call", "ns", energy.call_ns}};
  if (work.flops > 0) metrics.push_back({"energy/flops_per_joule", "FLOP/J", work.flops / energy.joule});
  if (work.bytes > 0) metrics.push_back({"energy/bytes_per_joule", "B/J", work.bytes / energy.joule});
  return metrics;
}

std::string energy_text(const ProblemInstance& problem, const EvaluationResult& result) {
  const auto measured =
      std::ranges::find_if(result.measurements, [](const Measurement& m) { return m.energy.has_value(); });
  if (measured == result.measurements.end()) return "";
  const Energy& energy = *measured->energy;
  if (energy.joule <= 0) return "not measured: " + energy.unavailable_reason;
  const Work work = work_on(problem, measured->workload);
  std::string text = fmt::format("{:.4g} mJ a call at {:.0f} W on {}", 1e3 * energy.joule, energy.power_w,
                                 measured->workload);
  if (work.flops > 0) text += fmt::format(", {:.4g} GFLOP/J", work.flops / energy.joule / 1e9);
  if (work.bytes > 0) text += fmt::format(", {:.4g} GB/J", work.bytes / energy.joule / 1e9);
  return text + fmt::format(" ({} calls back to back, {:.4g} us each)", energy.calls, energy.call_ns / 1e3);
}

}  // namespace ak
