// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/plan_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/hash.h"
#include "runtime/build/code_hash.h"

namespace ak::runtime {
namespace {

Result<std::vector<WorkloadPlan>, Outcome> plans_of(const Candidate& candidate,
                                                    const EvaluationRequest& request, DeviceKind device,
                                                    const Environment& environment) {
  return resolve_plans(*request.problem, candidate,
                       select_workloads(*request.problem, request.workloads, device), environment);
}

Outcome rival_fault(const std::string& message) {
  return {.status = Status::infrastructure_error,
          .stage = StageId::build,
          .message = "what it is compared with: " + message,
          .diagnostics = {}};
}

}  // namespace

std::optional<Outcome> inspect_constraints(const EvaluationRequest& request, const Environment& environment) {
  Environment known = request.problem->environment({});
  for (const auto& [name, value] : environment) known[name] = value;
  const Candidate& candidate = request.candidate;
  const auto broken = broken_constraints(candidate.plan, std::move(known), candidate.tunables);
  if (broken.empty()) return std::nullopt;
  return Outcome{.status = Status::invalid_candidate,
                 .stage = StageId::pre_check,
                 .message = fmt::format("launch plan: the constraint '{}' does not hold", broken.front()),
                 .diagnostics = {},
                 .gate = Gate::plan_bounds};
}

std::optional<Outcome> inspect_plans(EvaluationJob& job, DeviceKind device, const Environment& environment) {
  auto plans = plans_of(job.request.candidate, job.request, device, environment);
  if (!plans) return plans.error();
  job.plans = std::move(plans).value();
  if (device == DeviceKind::emulator) choose_for_costs(job.plans);
  const BuildResult& build = *job.result.build;
  const auto limits_of_target = limits(job.request.arch);
  for (const WorkloadPlan& plan : job.plans) {
    if (auto wrong = check_argument_types(plan.plan, build)) return wrong;
    job.result.shared_bytes =
        std::max(job.result.shared_bytes.value_or(0), max_shared_bytes(plan.plan, build));
    if (!limits_of_target) continue;
    if (auto wrong = check_launch_resources(plan.plan, build, *limits_of_target)) return wrong;
  }
  if (limits_of_target && !job.plans.empty())
    job.result.occupancy = first_launch_occupancy(job.plans.front().plan, build, *limits_of_target);
  return std::nullopt;
}

std::optional<Outcome> inspect_rival(EvaluationJob& job, DeviceKind device, const Environment& environment) {
  if (!job.request.rival) return std::nullopt;
  if (device != DeviceKind::cuda) return rival_fault("only a GPU has times to compare");
  if (job.rival_build->outcome.status != Status::ok) return rival_fault(job.rival_build->outcome.message);
  auto plans = plans_of(*job.request.rival, job.request, device, environment);
  if (!plans) return rival_fault(plans.error().message);
  job.rival_plans = std::move(plans).value();
  return std::nullopt;
}

std::string program_key(const EvaluationJob& job, const emulator::TokenizedText& ptx) {
  // A cubin also holds the values of tunables that the code does not read; PTX and options decide the
  // rest of it.
  std::string text = job.request.problem->definition.hash() + code_hash(ptx) +
                     (job.request.depth == Depth::time ? "time" : "check");
  for (const std::string& option : job.request.candidate.plan.options) text += option;
  for (const WorkloadPlan& plan : job.plans) text += plan.workload->name + to_json(plan.plan).dump();
  return sha256_hex(text);
}

}  // namespace ak::runtime
