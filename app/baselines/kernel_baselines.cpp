// SPDX-License-Identifier: Apache-2.0
#include "app/baselines/kernel_baselines.h"

#include <utility>

#include "agent/evaluate_one.h"
#include "agent/library_turns.h"
#include "agent/seeds.h"
#include "app/baselines/pytorch_turns.h"
#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

// Loading a library and timing its proposals takes seconds; building the references of a large problem more (chosen).
constexpr std::chrono::minutes kLibraryLimit{5};

std::vector<std::string> timed_workloads(const BaselinesOrder& order) {
  std::vector<std::string> names;
  for (const Workload& workload : order.problem->workloads) {
    const bool asked = std::ranges::find(order.workloads, workload.name) != order.workloads.end();
    const bool timed = workload.has(WorkloadRole::time) && workload.tier == WorkloadTier::gpu;
    if (order.workloads.empty() ? timed : asked) names.push_back(workload.name);
  }
  return names;
}

agent::LibraryTurnsReport libraries(const BaselinesOrder& order, const Target& target, const Config& config,
                                    const std::function<void(std::string_view)>& on_progress,
                                    const std::atomic<bool>* stop) {
  const auto evaluator = make_evaluator(target, config);
  const SystemClock clock;
  EvaluationRequest request;
  request.problem = order.problem;
  request.candidate = order.candidate;
  request.arch = target.arch;
  request.workloads = order.workloads;
  request.seed = agent::derive_seed(random_seed(), 0);
  return agent::turns_with_libraries(
      request,
      [&](EvaluationRequest one) -> std::optional<EvaluationResult> {
        auto completed =
            agent::evaluate_one(*evaluator, std::move(one), clock, clock.now() + kLibraryLimit, stop);
        if (!completed) return std::nullopt;
        return std::move(completed->result);
      },
      on_progress);
}

}  // namespace

KernelBaselines time_in_turns(const BaselinesOrder& order, const Target& target, const Config& config,
                              const std::function<void(std::string_view)>& on_progress,
                              const std::atomic<bool>* stop) {
  KernelBaselines found;
  if (target.kind != DeviceKind::cuda && !order.rehearse) {
    found.notes.emplace_back("baselines are timed on a GPU, and this runs on none");
    return found;
  }
  if (order.libraries && !order.rehearse) {
    agent::LibraryTurnsReport report = libraries(order, target, config, on_progress, stop);
    found.turns = std::move(report.turns);
    found.notes = std::move(report.notes);
  }
  if (order.baselines.empty()) return found;
  std::optional<BuildResult> build;
  if (order.build) build = *order.build;
  if (!order.rehearse && !build) build = built_kernel(order.problem, order.candidate, target.arch, config);
  PytorchTurns with_pytorch = pytorch_turns(
      {.problem = *order.problem,
       .candidate = order.candidate,
       .build = build ? &*build : nullptr,
       .device = target.device ? device_environment(*target.device, target.arch) : Environment(),
       .workloads = timed_workloads(order),
       .baselines = order.baselines,
       .rounds = order.rounds > 0 ? order.rounds : kTurnRounds,
       .rehearse = order.rehearse,
       .python = named_python(config)},
      on_progress, stop);
  std::ranges::move(with_pytorch.turns, std::back_inserter(found.turns));
  std::ranges::move(with_pytorch.notes, std::back_inserter(found.notes));
  return found;
}

}  // namespace ak::app
