// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/emit.h"
#include "codegen/emit/finished_plan.h"
#include "codegen/source/frozen_constants.h"

namespace ak::codegen {

std::string emit_kernel(const ProblemInstance& problem, const Candidate& candidate) {
  return with_plan(with_constants(candidate.source, frozen_constants(problem, candidate.tunables)),
                   finished_plan(problem, candidate));
}

}  // namespace ak::codegen
