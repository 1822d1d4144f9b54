// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/plan_demands.h"

#include <algorithm>
#include <map>

namespace ak::codegen {
namespace {

bool counts_sms(const LaunchPlan& plan, const Expression& expression) {
  const auto asks = [&](const std::string& name) {
    if (name == "SM_COUNT") return true;
    const auto let = std::ranges::find(plan.let, name, &std::pair<std::string, Expression>::first);
    return let != plan.let.end() && counts_sms(plan, let->second);
  };
  return std::ranges::any_of(expression.names(), asks);
}

/// How many launches are passed each workspace of floating point.
std::map<std::string, int> passed_sums(const ResolvedPlan& plan) {
  std::map<std::string, int> passed;
  for (const ResolvedWorkspace& workspace : plan.workspace) {
    const bool sums = workspace.dtype == DType::float32 || workspace.dtype == DType::float64;
    if (workspace.prepared || workspace.count == 0 || !sums) continue;
    for (const ResolvedLaunch& launch : plan.launches)
      passed[workspace.name] += std::ranges::any_of(launch.arguments, [&](const ResolvedArgument& argument) {
        const auto* pointer = std::get_if<ResolvedPointer>(&argument);
        return pointer != nullptr && pointer->name == workspace.name;
      });
  }
  return passed;
}

bool hands_on(const ResolvedPlan& plan) {
  const bool waits = std::ranges::any_of(plan.launches, &ResolvedLaunch::cooperative);
  return std::ranges::any_of(passed_sums(plan),
                             [&](const auto& sums) { return sums.second >= (waits ? 1 : 2); });
}

void add_launch(PlanDemands& demands, const std::string& kernel, bool clusters, bool cooperative, bool pdl) {
  demands.kernels.insert(kernel);
  demands.clusters = demands.clusters || clusters;
  demands.cooperative = demands.cooperative || cooperative;
  demands.early = demands.early || pdl;
}

}  // namespace

PlanDemands plan_demands(const LaunchPlan& plan, const std::vector<ResolvedPlan>& plans,
                         const std::string& kernel) {
  PlanDemands demands;
  const auto counts = [&](const std::string& name) { return kernel.empty() || name == kernel; };
  for (const ResolvedPlan& resolved : plans) {
    demands.hands_on_sums = demands.hands_on_sums || hands_on(resolved);
    for (const ResolvedLaunch& launch : resolved.launches) {
      const auto& [x, y, z] = launch.cluster;
      if (counts(launch.kernel))
        add_launch(demands, launch.kernel, x * y * z > 1, launch.cooperative, launch.pdl);
    }
  }
  for (const LaunchPlanEntry& entry : plan.launches) {
    if (plans.empty() && counts(entry.kernel))
      add_launch(demands, entry.kernel, !entry.cluster.empty(), entry.cooperative, entry.pdl);
    const auto follows = [&](const Expression& number) { return counts_sms(plan, number); };
    if (demands.kernels.contains(entry.kernel) && std::ranges::any_of(entry.grid, follows))
      demands.fills_device = true;
  }
  return demands;
}

}  // namespace ak::codegen
