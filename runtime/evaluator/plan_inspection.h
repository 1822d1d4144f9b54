// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "emulator/parse/lexer.h"
#include "runtime/evaluator/evaluation_job.h"

namespace ak::runtime {

/// What tunables, params and device decide alone, before it is built: a kernel for another target may not even compile.
/// @param environment what launch plans see of the device
[[nodiscard]] std::optional<Outcome> inspect_constraints(const EvaluationRequest& request,
                                                         const Environment& environment);

// The stage `resources`: what is known of a built candidate before it runs.

/// Resolves the candidate's plan for every workload that suits `device`, and compares arguments, threads,
/// shared memory and registers with the build and the target's limits. Fills in the job's plans, shared memory
/// and occupancy. @param environment what launch plans see of the device
[[nodiscard]] std::optional<Outcome> inspect_plans(EvaluationJob& job, DeviceKind device,
                                                   const Environment& environment);

/// The same of the rival, where the request has one: it was built and ran before, so that what fails now is an
/// infrastructure_error. Fills in rival_plans.
[[nodiscard]] std::optional<Outcome> inspect_rival(EvaluationJob& job, DeviceKind device,
                                                   const Environment& environment);

/// Names the machine code, the launches and how far the request goes; equal keys have equal results.
/// @param ptx of the candidate's build
[[nodiscard]] std::string program_key(const EvaluationJob& job, const emulator::TokenizedText& ptx);

}  // namespace ak::runtime
