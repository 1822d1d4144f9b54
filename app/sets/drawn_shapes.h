// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/sets/member_measurements.h"

namespace ak::app {

/// What tuned points take on shapes that nobody asked for.
struct DrawnTimes {
  std::vector<Workload> shapes;               ///< empty where there are none
  std::size_t timed = 0;                      ///< so many, the first, were asked of every point
  std::vector<std::vector<double>> times_ns;  ///< by point and shape; infinite where it was not timed
  std::vector<std::string> faults;            ///< by point: how it was wrong on one of them, else empty
  std::string note;                           ///< why there are none, where that is worth saying

  /// Of these shapes nothing is known.
  [[nodiscard]] static DrawnTimes of(std::vector<Workload> shapes, std::size_t points);
};

struct Drawing {
  std::uint64_t seed = 0;
  /// Shapes that there is time for with all points: where these are fewer than eight, or than there would be, none are drawn.
  std::optional<std::size_t> most;
};

/// How many shapes are drawn next to `timed` ones.
[[nodiscard]] std::size_t drawn_count(DeviceKind device, std::size_t timed, const Drawing& drawing);

/// Draws shapes from the problem's ranges of held-out shapes, as many as a set may be learned from next to `timed`, of those
/// that `points[base]` takes. Every point is checked and timed on some of them as in a search, `points[base]` on all: what is
/// fitted to many times needs none of them to a percent. The others are for time_near().
/// @param go_on called before each point; what it throws ends this
[[nodiscard]] DrawnTimes time_on_drawn(MemberMeasurements& measurements, const ProblemInstance& problem,
                                       const std::vector<AxisValues>& timed,
                                       const std::vector<Candidate>& points, std::size_t base,
                                       const Drawing& drawing, const std::function<void()>& go_on);

/// By point, of the shapes that not every point was timed on, those on which its estimate comes near the least, or says
/// nothing, and which it has no time on. Of 152 points of gemm these are a sixth, and tell as much of a shape as all of them
/// (experiments/results/2026-11-28_near_points).
/// @param estimated_ns by point and shape of `drawn`; infinite where it does not take one, 0 where nothing is known
[[nodiscard]] std::vector<std::vector<std::size_t>> near_shapes(
    const std::vector<std::vector<double>>& estimated_ns, const DrawnTimes& drawn);

/// Times the points on their near_shapes(). Of kernels that are all alike these are most points, so that there is time for
/// fewer shapes: what is left over is taken out of `drawn`.
/// @param most_times of a point on a shape each; nothing: as many as there are
void time_near(MemberMeasurements& measurements, const std::vector<Candidate>& points,
               const std::vector<std::vector<double>>& estimated_ns, std::optional<std::size_t> most_times,
               DrawnTimes& drawn, const std::function<void()>& go_on);

}  // namespace ak::app
