// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/tuning/tunable_space.h"

namespace ak {

/// All points of a plan's tunables that satisfy those constraints that follow from tunables and names known in
/// `environment`, also through `let`. A plan without tunables has one point, or none. Errors: as
/// TunableSpace::build; a diagram may take 16 MB.
[[nodiscard]] Result<TunableSpace> plan_space(const LaunchPlan& plan, const Environment& environment);

/// Of spaces whose values are integers, as those of plans are.
[[nodiscard]] TunableValues tunables_of(const TunableSpace& space, std::span<const std::uint16_t> point);
/// Nothing where it is no point of the space.
[[nodiscard]] std::optional<TuningPoint> point_of(const TunableSpace& space, const TunableValues& tunables);

/// Up to `count` points, those first in which the fewest tunables differ from `tunables`, then by how many
/// doublings.
[[nodiscard]] std::vector<TunableValues> nearest_points(const TunableSpace& space,
                                                        const TunableValues& tunables, std::size_t count);

}  // namespace ak
