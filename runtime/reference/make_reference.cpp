// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/make_reference.h"

#include "runtime/reference/compiled_reference.h"
#include "runtime/reference/process_reference.h"

namespace ak::runtime {

std::unique_ptr<Reference> make_reference(RunContext& run_context) {
  if (run_context.problem.python) return std::make_unique<ProcessReference>(run_context);
  return std::make_unique<CompiledReference>(run_context);
}

}  // namespace ak::runtime
