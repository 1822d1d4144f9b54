// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "runtime/check/candidate_run.h"
#include "runtime/reference/reference.h"

namespace ak::runtime {

/// Compares every output of a finished run with its reference; one record per tensor. Returns the first
/// failure (incorrect), worded for a person. `when` is added to the message: "after timing".
[[nodiscard]] std::optional<Outcome> compare_outputs(RunContext& run_context, const CandidateRun& run,
                                                     StageId stage, const std::string& when,
                                                     std::vector<CheckRecord>& records);

/// Runs a candidate twice on every distribution of the task and compares results, memory and
/// repeatability (docs/checking.md). Nothing when all is well. Throws CudaError when the device fails
/// outside the candidate.
[[nodiscard]] std::optional<Outcome> check_workload(RunContext& run_context, DataStore& store,
                                                    ProgramLoader& program, const WorkloadLayout& workload,
                                                    const WorkloadTask& task, std::uint64_t seed,
                                                    std::vector<CheckRecord>& records);

/// The problem's twin, perhaps with the mutation that task.twin names, in a candidate's place: checked as one is.
/// Errors: also why a data set cannot be made.
[[nodiscard]] std::optional<Outcome> check_twin(RunContext& run_context, DataStore& store,
                                                Reference& reference, const DeviceTask& task,
                                                std::vector<CheckRecord>& records);

/// "y[3,17]" for the flat index of a row-major tensor; "y" for a 0-D one.
[[nodiscard]] std::string element_name(const std::string& tensor, const std::vector<std::int64_t>& shape,
                                       std::int64_t index);

}  // namespace ak::runtime
