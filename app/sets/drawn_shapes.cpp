// SPDX-License-Identifier: Apache-2.0
#include "app/sets/drawn_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "codegen/problem/held_out.h"
#include "codegen/sets/set_candidate.h"
#include "core/sets/set_choice.h"

namespace ak::app {
namespace {

// On the CPU device each takes as long as a timed one, for every point (chosen).
constexpr std::size_t kDrawnOnCpuDevice = 4;
// For each shape that was asked for: a set for three shapes of a model need not know as many as one for any (chosen).
constexpr std::size_t kDrawnOfShape = 5;
// However little time is left: an estimate has three to five factors (chosen).
constexpr std::size_t kLeastDrawn = 8;

std::vector<Workload> draw(const MemberMeasurements& measurements, const ProblemInstance& problem,
                           const std::vector<AxisValues>& timed, const Candidate& base,
                           const Drawing& drawing) {
  const std::size_t count = drawn_count(measurements.device().kind, timed.size(), drawing);
  std::vector<Workload> drawn =
      codegen::sample_to_time(problem, measurements.device().kind, static_cast<int>(count), drawing.seed);
  std::set<AxisValues> seen(timed.begin(), timed.end());
  std::erase_if(drawn, [&](const Workload& shape) {
    return !seen.insert(shape.axes).second || !measurements.takes(base, shape.axes);
  });
  return drawn;
}

/// Infinite where there is no answer.
std::vector<double> times_of(MemberMeasurements& measurements, const Candidate& candidate,
                             const std::vector<Workload>& shapes) {
  const auto answer = measurements.time(candidate, shapes, TimeQuality::coarse);
  if (!answer || answer->times_ns.size() != shapes.size())
    return std::vector(shapes.size(), std::numeric_limits<double>::infinity());
  return answer->times_ns;
}

}  // namespace

std::size_t drawn_count(DeviceKind device, std::size_t timed, const Drawing& drawing) {
  std::size_t count = kMaxSetShapes - std::min(kMaxSetShapes, timed);
  count = std::min(count, kDrawnOfShape * timed);
  if (device != DeviceKind::cuda) count = std::min(count, kDrawnOnCpuDevice);
  if (drawing.most) count = std::min(count, std::max(*drawing.most, kLeastDrawn));
  return count;
}

DrawnTimes time_on_drawn(MemberMeasurements& measurements, const ProblemInstance& problem,
                         const std::vector<AxisValues>& timed, const std::vector<Candidate>& points,
                         std::size_t base, const Drawing& drawing, const std::function<void()>& go_on) {
  DrawnTimes drawn;
  std::vector<Workload> shapes = draw(measurements, problem, timed, points[base], drawing);
  if (shapes.empty()) return drawn;
  go_on();
  const auto times = measurements.time(points[base], shapes, TimeQuality::coarse);
  const auto is_timed = [](double ns) { return std::isfinite(ns); };
  if (!times || times->times_ns.size() != shapes.size() || !std::ranges::all_of(times->times_ns, is_timed)) {
    drawn.note = fmt::format("the rule knows the timed shapes alone: {} was not timed on drawn ones{}",
                             codegen::point_text(points[base]), times ? ": " + times->outcome.message : "");
    return drawn;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    go_on();
    drawn.times_ns.push_back(i == base ? times->times_ns : times_of(measurements, points[i], shapes));
  }
  drawn.shapes = std::move(shapes);
  return drawn;
}

}  // namespace ak::app
