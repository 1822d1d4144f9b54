// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/launch_plan.h"

namespace ak::codegen {

/// What a launch plan asks for.
struct PlanDemands {
  std::set<std::string> kernels;  ///< that are launched
  bool clusters = false, cooperative = false, early = false;
  bool fills_device = false;  ///< a grid follows from how many SMs there are
  bool hands_on_sums =
      false;  ///< scratch memory of floating point goes from blocks to others: to a later launch, or behind
              ///< a barrier of the grid
};

/// On the shapes that `plans` are for; with none, whatever the shape. @param kernel of its launches alone; empty: of all
[[nodiscard]] PlanDemands plan_demands(const LaunchPlan& plan, const std::vector<ResolvedPlan>& plans,
                                       const std::string& kernel = "");

[[nodiscard]] inline bool has_clusters(const PlanDemands& demands) { return demands.clusters; }
[[nodiscard]] inline bool is_cooperative(const PlanDemands& demands) { return demands.cooperative; }
[[nodiscard]] inline bool launches_early(const PlanDemands& demands) { return demands.early; }
[[nodiscard]] inline bool fills_device(const PlanDemands& demands) { return demands.fills_device; }
[[nodiscard]] inline bool hands_on_sums(const PlanDemands& demands) { return demands.hands_on_sums; }

}  // namespace ak::codegen
