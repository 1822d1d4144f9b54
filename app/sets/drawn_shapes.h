// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/sets/member_measurements.h"

namespace ak::app {

/// A tuned point that was right on the timed shapes, and the row of its variant.
struct DrawnPoint {
  const Candidate& candidate;
  RowId variant;
};

/// What tuned points take on shapes that nobody asked for.
struct DrawnTimes {
  std::vector<Workload> shapes;               ///< empty where there are none
  std::vector<std::vector<double>> times_ns;  ///< by point and shape; infinite where it was not timed
  std::string note;                           ///< why there are none, where that is worth saying
};

/// Draws shapes from the problem's ranges of held-out shapes, as many as a set may be learned from next to `timed`. `points[base]`
/// is checked and timed on those that it takes, and the others take turns with it; on the CPU device, whose costs do not
/// drift, each is checked and timed.
/// @param go_on called before each point; what it throws ends this
[[nodiscard]] DrawnTimes time_on_drawn(MemberMeasurements& measurements, const ProblemInstance& problem,
                                       const std::vector<AxisValues>& timed,
                                       const std::vector<DrawnPoint>& points, std::size_t base,
                                       std::uint64_t seed, const std::function<void()>& go_on);

}  // namespace ak::app
