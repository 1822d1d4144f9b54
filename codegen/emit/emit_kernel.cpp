// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/emit.h"
#include "codegen/emit/finished_plan.h"
#include "codegen/source/frozen_constants.h"
#include "core/plan/device_headers.h"

namespace ak::codegen {

std::string emit_kernel(const ProblemInstance& problem, const Candidate& candidate) {
  const std::string source = with_constants(candidate.source, frozen_constants(problem, candidate.tunables));
  return with_plan(with_device_headers(source, candidate.headers), finished_plan(problem, candidate));
}

}  // namespace ak::codegen
