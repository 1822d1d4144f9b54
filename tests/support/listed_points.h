// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/tuning/plan_space.h"

namespace ak::test {

/// All points of a plan's space, in the order of their numbers; the space must be small.
[[nodiscard]] inline std::vector<TunableValues> listed_points(const LaunchPlan& plan,
                                                              const Environment& environment) {
  const TunableSpace space = plan_space(plan, environment).value();
  std::vector<TunableValues> points;
  for (std::uint64_t i = 0; i < space.size(); ++i) points.push_back(tunables_of(space, space.point(i)));
  return points;
}

}  // namespace ak::test
