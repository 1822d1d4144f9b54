// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/cost_measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/check/check.h"

namespace ak::runtime {

namespace {

void count_bytes(const RunContext& run_context, const DataSet& data, const CandidateRun& run,
                 Counts& counts) {
  for (const InputData& input : data.inputs)
    counts[kInputBytesRead] += run_context.inspector->touched_bytes(input.buffer.data()).read;
  for (std::size_t i = 0; i < run_context.problem.tensors.size(); ++i)
    if (run_context.problem.tensors[i].output)
      counts[kOutputBytesWritten] += run_context.inspector->touched_bytes(run.output(i)).written;
}

}  // namespace

Result<Measurement, Outcome> measure_cost(RunContext& run_context, DataStore& store,
                                          const TimingTarget& target, std::uint64_t seed, bool follow_bytes) {
  AK_ASSERT(run_context.inspector != nullptr, "only the CPU device counts costs");
  auto data = store.get(target.workload, target.workload.distributions.front().name, seed);
  if (!data) return data.error();
  auto run = target.bind(data.value(), nullptr);
  if (!run) return run.error();
  if (auto failed = run.value().prepare(StageId::time, {.count_cost = true})) return *failed;
  static_cast<void>(run_context.inspector->take_counts());
  if (auto failed = run->run(StageId::time, {.count_cost = true, .follow_bytes = follow_bytes}))
    return *failed;
  LaunchCounts counted = run_context.inspector->take_counts();
  if (follow_bytes) count_bytes(run_context, *data.value(), run.value(), counted.counts);
  if (auto failed = run->verify_prepared(StageId::recheck)) return *failed;
  std::vector<CheckRecord> ignored;
  if (auto failed =
          compare_outputs(run_context, run.value(), StageId::recheck, "in the counted call", ignored))
    return *failed;
  constexpr double kMaxNs = std::numeric_limits<std::uint32_t>::max();
  Measurement measurement;
  measurement.workload = target.workload.name;
  measurement.role = target.role;
  measurement.label = target.label;
  measurement.method = kEmulatedMethod;
  measurement.samples_ns = {static_cast<std::uint32_t>(std::min(std::round(counted.cost_ns), kMaxNs))};
  measurement.median_ns = measurement.ci_low_ns = measurement.ci_high_ns = counted.cost_ns;
  measurement.prepare_ns = run->prepare_ns();
  measurement.prepared_bytes = run->prepared_bytes();
  measurement.counts = std::move(counted.counts);
  measurement.line_counts = std::move(counted.by_line);
  return measurement;
}

}  // namespace ak::runtime
