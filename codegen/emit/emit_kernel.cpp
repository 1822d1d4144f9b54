// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/emit.h"
#include "codegen/source/frozen_constants.h"

namespace ak::codegen {

std::string emit_kernel(const ProblemInstance& problem, const Candidate& candidate) {
  LaunchPlan plan = candidate.plan;
  plan.problem = problem.problem;
  plan.params = Json::object();
  for (const auto& [name, value] : problem.params) {
    std::visit([&, &key = name](const auto& v) { plan.params[key] = v; }, value);
  }
  plan.frozen = candidate.tunables;
  return with_plan(with_constants(candidate.source, frozen_constants(problem, candidate.tunables)), plan);
}

}  // namespace ak::codegen
