// SPDX-License-Identifier: Apache-2.0
#include "app/predict/exact_counts.h"

#include <fmt/format.h>

#include "codegen/problem/problem_catalog.h"
#include "core/error.h"

namespace ak::app {

std::string shape_name(const AxisValues& axes) {
  std::string name;
  for (const auto& [axis, size] : axes) name += fmt::format("{}{}={}", name.empty() ? "" : ",", axis, size);
  return name;
}

std::shared_ptr<const ProblemInstance> with_counted_shapes(const ProblemInstance& problem,
                                                           const std::vector<AxisValues>& shapes) {
  auto copy = std::make_shared<ProblemInstance>(problem);
  copy->workloads.clear();
  copy->held_out.clear();
  copy->baselines.clear();
  copy->distributions.resize(std::min<std::size_t>(1, copy->distributions.size()));
  for (const AxisValues& axes : shapes) {
    try {
      Workload workload = codegen::with_shape(problem, shape_name(axes))->workloads.front();
      workload.tier = WorkloadTier::emulator;
      copy->workloads.push_back(std::move(workload));
    } catch (const Error&) {
      continue;  // a reduced shape that the definition does not have
    }
  }
  return copy;
}

}  // namespace ak::app
