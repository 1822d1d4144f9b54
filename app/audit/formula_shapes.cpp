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

bool possible(const ProblemInstance& problem, const AxisValues& sizes) {
  if (!codegen::size_error(problem, sizes).empty()) return false;
  Workload workload{.name = {}, .uid = {}, .axes = sizes, .roles = {}};
  return problem.draws(*problem.distributions_of(workload).front(), sizes).ok();
}

/// Without the ends of tiles, whose cost does not grow with the size.
AxisValues rounded(const AxisValues& sizes) {
  AxisValues rounded = sizes;
  for (auto& [axis, size] : rounded)
    size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
  return rounded;
}

double work_at(const ProblemInstance& problem, const AxisValues& sizes) {
  const Result<Work> work = work_of(problem, {.name = {}, .uid = {}, .axes = sizes, .roles = {}});
  return work ? work->flops + work->bytes : 0;
}

/// Shapes whose axis is once, twice and four times as long; nothing where one of them is no shape of the problem.
std::optional<std::array<AxisValues, 3>> doubled(const ProblemInstance& problem, const AxisValues& base,
                                                 const std::string& axis) {
  std::array<AxisValues, 3> shapes{base, base, base};
  shapes[1][axis] *= 2;
  shapes[2][axis] *= 4;
  for (const AxisValues& sizes : shapes)
    if (!possible(problem, sizes)) return std::nullopt;
  return shapes;
}

/// The largest of the small workloads, by its formulas, of which no doubled shape is too much work, if there is one.
std::optional<AxisValues> base_sizes(const ProblemInstance& problem, const std::vector<Workload>& workloads) {
  std::vector<AxisValues> bases;
  for (const Workload& workload : workloads) {
    const AxisValues without_ends = rounded(workload.axes);
    bases.push_back(possible(problem, without_ends) ? without_ends : workload.axes);
  }
  std::ranges::sort(bases, std::greater(), [&](const AxisValues& sizes) { return work_at(problem, sizes); });
  const auto fits = [&](const AxisValues& base) {
    return std::ranges::all_of(base, [&](const auto& axis) {
      const auto shapes = doubled(problem, base, axis.first);
      return !shapes || work_at(problem, shapes->back()) <= kMostWork;
    });
  };
  const auto found = std::ranges::find_if(bases, fits);
  return found == bases.end() ? std::nullopt : std::optional(*found);
}

std::size_t add(FormulaShapes& shapes, const ProblemInstance& problem, const AxisValues& sizes) {
  const auto known = std::ranges::find(shapes.workloads, sizes, &Workload::axes);
  if (known != shapes.workloads.end()) return static_cast<std::size_t>(known - shapes.workloads.begin());
  std::string name;
  for (const auto& [axis, size] : sizes) name += fmt::format("{}{}={}", name.empty() ? "" : ",", axis, size);
  shapes.workloads.push_back({.name = name,
                              .uid = codegen::workload_uid(problem, sizes),
                              .axes = sizes,
                              .roles = {WorkloadRole::time},
                              .tier = WorkloadTier::emulator});
  return shapes.workloads.size() - 1;
}

}  // namespace

FormulaShapes formula_shapes(const ProblemInstance& problem, const std::vector<std::string>& names) {
  FormulaShapes shapes;
  for (const Workload* workload : runtime::select_workloads(problem, names, DeviceKind::emulator))
    shapes.workloads.push_back(*workload);
  if (shapes.workloads.empty()) return shapes;
  const std::optional<AxisValues> base = base_sizes(problem, shapes.workloads);
  for (const auto& [axis, size] : base.value_or(AxisValues{})) {
    const auto sizes = doubled(problem, *base, axis);
    if (!sizes) continue;
    AxisShapes& doubling = shapes.axes.emplace_back(AxisShapes{.axis = axis});
    for (std::size_t i = 0; i < sizes->size(); ++i) doubling.workloads[i] = add(shapes, problem, (*sizes)[i]);
  }
  for (Workload& workload : shapes.workloads)
    workload.distributions = {problem.distributions_of(workload).front()->name};
  return shapes;
}

}  // namespace ak::app
