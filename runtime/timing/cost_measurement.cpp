// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/cost_measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/check/check.h"

namespace ak::runtime {

Result<Measurement, Outcome> measure_cost(Workbench& bench, DataStore& store, const TimingTarget& target,
                                          std::uint64_t seed) {
  AK_ASSERT(bench.critic != nullptr, "only the CPU device counts costs");
  auto data = store.get(target.workload, bench.problem.distributions.front().name, seed);
  if (!data) return data.error();
  auto run = target.bind(data.value(), nullptr);
  if (!run) return run.error();
  static_cast<void>(bench.critic->take_counts());
  if (auto failed = run->run(StageId::time, {.count_cost = true})) return *failed;
  LaunchCounts counted = bench.critic->take_counts();
  std::vector<CheckRecord> ignored;
  if (auto failed = compare_outputs(bench, run.value(), StageId::recheck, "in the counted call", ignored))
    return *failed;
  constexpr double kMostNs = std::numeric_limits<std::uint32_t>::max();
  Measurement measurement;
  measurement.workload = target.workload.name;
  measurement.role = target.role;
  measurement.label = target.label;
  measurement.method = kEmulatedMethod;
  measurement.samples_ns = {static_cast<std::uint32_t>(std::min(std::round(counted.cost_ns), kMostNs))};
  measurement.median_ns = measurement.ci_low_ns = measurement.ci_high_ns = counted.cost_ns;
  measurement.counts = std::move(counted.counts);
  measurement.line_counts = std::move(counted.by_line);
  return measurement;
}

}  // namespace ak::runtime
