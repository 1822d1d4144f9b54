// SPDX-License-Identifier: Apache-2.0
#include "app/sets/drawn_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
// An estimate has three to five factors (chosen). On so many all points are timed.
constexpr std::size_t kLeastDrawn = 8;
// Estimates above this many times the least are hardly wrong by so much: by cross-validation 1.2 costs half a percent to one, and
// 1.5 gains a third at most (experiments/results/2026-11-28_near_points).
constexpr double kNear = 1.3;
// So many shapes with the points near the least take as long as one with all (as there: a sixth of the points).
constexpr std::size_t kNearShapesOfOne = 5;
constexpr double kNotTimed = std::numeric_limits<double>::infinity();

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

/// A point on the chosen ones of the shapes.
void time_point(MemberMeasurements& measurements, const std::vector<Candidate>& points, std::size_t i,
                const std::vector<std::size_t>& chosen, DrawnTimes& drawn) {
  const auto answer = measurements.time(points[i], drawn.shapes, chosen, TimeQuality::coarse);
  if (!answer || answer->times_ns.size() != drawn.shapes.size()) return;
  if (info(answer->outcome.status).candidate_fault)
    drawn.faults[i] = fmt::format("{}: {}", to_string(answer->outcome.status), answer->outcome.message);
  else
    for (const std::size_t shape : chosen) drawn.times_ns[i][shape] = answer->times_ns[shape];
}

std::vector<double> least_of(const std::vector<std::vector<double>>& by_point) {
  std::vector<double> least(by_point.front().size(), kNotTimed);
  for (const std::vector<double>& ns : by_point)
    for (std::size_t shape = 0; shape < ns.size(); ++shape)
      if (ns[shape] > 0) least[shape] = std::min(least[shape], ns[shape]);
  return least;
}

/// Without the last shapes, where points have more times to take than that.
void keep_in_time(std::vector<std::vector<std::size_t>>& near, DrawnTimes& drawn, std::size_t most_times) {
  std::vector<std::size_t> of_shape(drawn.shapes.size(), 0);
  for (const std::vector<std::size_t>& shapes : near)
    for (const std::size_t shape : shapes) ++of_shape[shape];
  std::size_t kept = drawn.timed;
  for (std::size_t times = 0; kept < of_shape.size() && (times += of_shape[kept]) <= most_times;) ++kept;
  drawn.shapes.resize(kept);
  for (std::vector<double>& times_ns : drawn.times_ns) times_ns.resize(kept);
  for (std::vector<std::size_t>& shapes : near)
    std::erase_if(shapes, [&](std::size_t shape) { return shape >= kept; });
}

}  // namespace

DrawnTimes DrawnTimes::of(std::vector<Workload> shapes, std::size_t points) {
  DrawnTimes drawn;
  drawn.times_ns.assign(points, std::vector(shapes.size(), kNotTimed));
  drawn.faults.resize(points);
  drawn.shapes = std::move(shapes);
  return drawn;
}

std::size_t drawn_count(DeviceKind device, std::size_t timed, const Drawing& drawing) {
  std::size_t count = kMaxSetShapes - std::min(kMaxSetShapes, timed);
  count = std::min(count, kDrawnOfShape * timed);
  if (device != DeviceKind::cuda) count = std::min(count, kDrawnOnCpuDevice);
  if (!drawing.most || *drawing.most >= count) return count;
  if (*drawing.most < std::min(count, kLeastDrawn)) return 0;
  return std::min(count, kLeastDrawn + (*drawing.most - kLeastDrawn) * kNearShapesOfOne);
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
  drawn = DrawnTimes::of(std::move(shapes), points.size());
  drawn.timed = std::min(drawn.shapes.size(), kLeastDrawn);
  drawn.times_ns[base] = times->times_ns;
  std::vector<std::size_t> first(drawn.timed);
  std::iota(first.begin(), first.end(), std::size_t{0});
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == base) continue;
    go_on();
    time_point(measurements, points, i, first, drawn);
  }
  return drawn;
}

std::vector<std::vector<std::size_t>> near_shapes(const std::vector<std::vector<double>>& estimated_ns,
                                                  const DrawnTimes& drawn) {
  const std::vector<double> least_ns = least_of(estimated_ns);
  std::vector<std::vector<std::size_t>> near(estimated_ns.size());
  for (std::size_t i = 0; i < estimated_ns.size(); ++i)
    for (std::size_t shape = drawn.timed; shape < drawn.shapes.size(); ++shape)
      if (drawn.faults[i].empty() && !std::isfinite(drawn.times_ns[i][shape]) &&
          std::isfinite(estimated_ns[i][shape]) && estimated_ns[i][shape] <= kNear * least_ns[shape])
        near[i].push_back(shape);
  return near;
}

void time_near(MemberMeasurements& measurements, const std::vector<Candidate>& points,
               const std::vector<std::vector<double>>& estimated_ns, std::optional<std::size_t> most_times,
               DrawnTimes& drawn, const std::function<void()>& go_on) {
  std::vector<std::vector<std::size_t>> near = near_shapes(estimated_ns, drawn);
  if (most_times) keep_in_time(near, drawn, *most_times);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (near[i].empty()) continue;
    go_on();
    time_point(measurements, points, i, near[i], drawn);
  }
}

}  // namespace ak::app
