// SPDX-License-Identifier: Apache-2.0
#include "app/audit/formula_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/problem/problem_reader.h"
#include "core/plan/work.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

// Operations and bytes that the CPU device needs about a second for, with checks (chosen).
constexpr double kMostWork = 4e6;

/// A workload of these sizes, drawn as another is.
Workload resized(const Workload& workload, AxisValues sizes) {
  return {
      .name = {}, .uid = {}, .axes = std::move(sizes), .roles = {}, .distributions = workload.distributions};
}

bool possible(const ProblemInstance& problem, const Workload& workload) {
  if (!codegen::size_error(problem, workload.axes).empty()) return false;
  return problem.draws(*problem.distributions_of(workload).front(), workload.axes).ok();
}

/// Without the ends of tiles, whose cost does not grow with the size.
Workload rounded(const Workload& workload) {
  AxisValues sizes = workload.axes;
  for (auto& [axis, size] : sizes)
    size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
  return resized(workload, std::move(sizes));
}

double work_at(const ProblemInstance& problem, const Workload& workload) {
  const Result<Work> work = work_of(problem, workload);
  return work ? work->flops + work->bytes : 0;
}

/// Shapes whose axis is once, twice and four times as long; nothing where one of them is no shape of the problem.
std::optional<std::array<Workload, 3>> doubled(const ProblemInstance& problem, const Workload& base,
                                               const std::string& axis) {
  std::array<Workload, 3> shapes{base, base, base};
  shapes[1].axes[axis] *= 2;
  shapes[2].axes[axis] *= 4;
  for (const Workload& shape : shapes)
    if (!possible(problem, shape)) return std::nullopt;
  return shapes;
}

/// The largest of the small workloads, by its formulas, of which no doubled shape is too much work, if there is one.
std::optional<Workload> base_of(const ProblemInstance& problem, const std::vector<Workload>& workloads) {
  std::vector<Workload> bases;
  for (const Workload& workload : workloads) {
    const Workload without_ends = rounded(workload);
    bases.push_back(possible(problem, without_ends) ? without_ends : resized(workload, workload.axes));
  }
  std::ranges::sort(bases, std::greater(), [&](const Workload& base) { return work_at(problem, base); });
  const auto fits = [&](const Workload& base) {
    return std::ranges::all_of(base.axes, [&](const auto& axis) {
      const auto shapes = doubled(problem, base, axis.first);
      return !shapes || work_at(problem, shapes->back()) <= kMostWork;
    });
  };
  const auto found = std::ranges::find_if(bases, fits);
  return found == bases.end() ? std::nullopt : std::optional(*found);
}

std::size_t add(FormulaShapes& shapes, const ProblemInstance& problem, const Workload& shape) {
  const auto known = std::ranges::find(shapes.workloads, shape.axes, &Workload::axes);
  if (known != shapes.workloads.end()) return static_cast<std::size_t>(known - shapes.workloads.begin());
  std::string name;
  for (const auto& [axis, size] : shape.axes)
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", axis, size);
  shapes.workloads.push_back({.name = name,
                              .uid = codegen::workload_uid(problem, shape.axes),
                              .axes = shape.axes,
                              .roles = {WorkloadRole::time},
                              .tier = WorkloadTier::emulator,
                              .distributions = shape.distributions});
  return shapes.workloads.size() - 1;
}

}  // namespace

FormulaShapes formula_shapes(const ProblemInstance& problem, const std::vector<std::string>& names) {
  FormulaShapes shapes;
  for (const Workload* workload : runtime::select_workloads(problem, names, DeviceKind::emulator))
    shapes.workloads.push_back(*workload);
  if (shapes.workloads.empty()) return shapes;
  const std::optional<Workload> base = base_of(problem, shapes.workloads);
  for (const auto& [axis, size] : base ? base->axes : AxisValues{}) {
    const auto grown = doubled(problem, *base, axis);
    if (!grown) continue;
    AxisShapes& doubling = shapes.axes.emplace_back(AxisShapes{.axis = axis});
    for (std::size_t i = 0; i < grown->size(); ++i) doubling.workloads[i] = add(shapes, problem, (*grown)[i]);
  }
  for (Workload& workload : shapes.workloads)
    workload.distributions = {problem.distributions_of(workload).front()->name};
  return shapes;
}

}  // namespace ak::app
