// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/llm/prompt_parts.h"
#include "core/evaluation.h"

namespace ak::app {

/// What limits a candidate, for the one who is to improve it: of the workload that takes longest the
/// bottleneck, its evidence and remedies with what each may gain at most, what else was found, and the lines
/// where warps wait. From the profiles of `result`, or from the exact counts of the CPU device. Empty where
/// neither is there.
[[nodiscard]] agent::Diagnosis diagnose(const ProblemInstance& problem, const Candidate& candidate,
                                        const EvaluationResult& result, const DeviceFacts& device,
                                        const Arch& arch);

}  // namespace ak::app
