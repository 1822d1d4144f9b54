// SPDX-License-Identifier: Apache-2.0
#include "app/predict/exact_counts.h"

#include "codegen/problem/problem_catalog.h"
#include "core/error.h"

namespace ak::app {

std::shared_ptr<const ProblemInstance> with_counted_shapes(const ProblemInstance& problem,
                                                           const std::vector<AxisValues>& shapes) {
  auto copy = std::make_shared<ProblemInstance>(problem);
  copy->workloads.clear();
  copy->shapes_given = true;
  copy->held_out.clear();
  copy->baselines.clear();
  copy->distributions.resize(std::min<std::size_t>(1, copy->distributions.size()));
  for (const AxisValues& axes : shapes) {
    try {
      Workload workload =
          codegen::with_shape(problem, shape_name(problem.definition, axes))->workloads.front();
      workload.tier = WorkloadTier::emulator;
      copy->workloads.push_back(std::move(workload));
    } catch (const Error&) {
      continue;  // a reduced shape that the definition does not have
    }
  }
  return copy;
}

}  // namespace ak::app
