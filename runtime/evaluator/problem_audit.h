// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/audit.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::runtime {

struct AuditRequest {
  std::shared_ptr<const ProblemInstance> problem;
  std::vector<std::string> workloads;  ///< names; checked with every distribution
  std::uint64_t seed = 0;
  bool every_comparison = false;  ///< of a declared mutation, although those before have rejected it
};

/// Puts the twin and every mutation through the checks of candidates (docs/checking.md, Audit). Where
/// the twin does not pass, the mutations are not tried. Blocks; starts workers of its own. Throws Error as an
/// evaluator does, and Error(environment) where the device cannot run the problem's references.
/// @param device facts of the device that `options` names.
[[nodiscard]] ProblemAudit audit_problem(const EvaluatorOptions& options, const SourceAssembler& assembler,
                                         const DeviceFacts& device, const AuditRequest& request);

}  // namespace ak::runtime
