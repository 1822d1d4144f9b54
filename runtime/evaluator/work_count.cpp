// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/work_count.h"

#include "core/error.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/problem_build.h"
#include "runtime/timing/cost_measurement.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// For one workload; the worker's own watchdog ends a hang (chosen).
constexpr std::chrono::minutes kCountLimit{30};

WorkCount work_count(const Measurement& measured) {
  WorkCount work{.workload = measured.workload};
  for (const auto& [name, count] : measured.counts) {
    const auto value = static_cast<double>(count);
    if (name.starts_with("flop/")) work.flops += value;
    if (name == "inst/thread/integer") work.integer_operations = value;
    if (name == kInputBytesRead) work.bytes_read = value;
    if (name == kOutputBytesWritten) work.bytes_written = value;
  }
  return work;
}

}  // namespace

std::vector<WorkCount> count_work(const EvaluatorOptions& options, const SourceAssembler& assembler,
                                  const DeviceFacts& device,
                                  const std::shared_ptr<const ProblemInstance>& problem, std::uint64_t seed) {
  AK_ASSERT(options.device == DeviceKind::emulator && !problem->python && seed > 0,
            "the CPU device counts what kernels do");
  std::vector<std::string> command = options.launcher;
  command.insert(command.end(), options.worker_command.begin(), options.worker_command.end());
  command.insert(command.end(), {"--role", "device"});
  DeviceClient client(command);
  client.open(build_problem(options, assembler, device, problem));
  std::vector<WorkCount> counts;
  for (const Workload& workload : problem->workloads) {
    // The baselines: of the CPU device that is the twin. What is timed has the contents of the seed that follows.
    DeviceTask task{.image = {}, .seed = seed - 1, .workloads = {}, .budget = {}, .follow_bytes = true};
    task.workloads.push_back(
        {.workload = workload.name, .plan = {}, .distributions = {}, .time = true, .champion_score_ns = {}});
    const DeviceAnswer answer = client.run(task, steady_clock::now() + kCountLimit).answer;
    if (answer.outcome.status != Status::ok || answer.measurements.empty())
      fail(ExitCode::environment, "the work of {} cannot be counted on workload {}: {}",
           problem->definition.name, workload.name, explain(answer.outcome));
    counts.push_back(work_count(answer.measurements.front()));
  }
  return counts;
}

}  // namespace ak::runtime
