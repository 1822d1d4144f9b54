// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/reference_dump.h"

#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/problem_build.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// The worker's own watchdog ends a hang; this is for a whole dump (chosen).
constexpr std::chrono::minutes kDumpLimit{60};

std::shared_ptr<const OpenProblem> open_problem(const EvaluatorOptions& options,
                                                const SourceAssembler& assembler, const DeviceFacts& device,
                                                const DumpRequest& request) {
  auto open = std::make_shared<OpenProblem>(*build_problem(options, assembler, device, request.problem));
  open->scratch_dir = request.folder.string();
  return open;
}

}  // namespace

Outcome dump_references(const EvaluatorOptions& options, const SourceAssembler& assembler,
                        const DeviceFacts& device, const DumpRequest& request) {
  DeviceTask task{
      .image = {}, .seed = request.seed, .workloads = {}, .budget = {}, .dump_dir = request.folder.string()};
  const auto open = open_problem(options, assembler, device, request);
  for (const std::string& name : request.workloads) {
    WorkloadTask& one = task.workloads.emplace_back();
    one.workload = name;
    if (request.given_only) continue;
    for (const DrawnInputs& inputs : open->workload(name).distributions)
      one.distributions.push_back(inputs.name);
  }
  std::vector<std::string> command = options.worker_command;
  command.insert(command.end(), {"--role", "device"});
  DeviceClient client(std::move(command));
  client.open(open);
  return client.run(task, steady_clock::now() + kDumpLimit).answer.outcome;
}

}  // namespace ak::runtime
