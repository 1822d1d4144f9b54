// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/evaluation.h"
#include "runtime/check/data_set.h"
#include "runtime/reference/reference.h"

namespace ak::runtime {

/// Runs the twin on inputs of which task.mutated_input has lost what task.mutation names (of input_mutations), and
/// compares its results with those of the inputs as they were: what the checks see of a candidate that does
/// not look there. Ends after the first workload and distribution that is rejected. No record where no
/// value changed. Errors: why a data set cannot be made, or the reference is lost.
[[nodiscard]] std::optional<Outcome> check_input_mutation(RunContext& run_context, DataStore& store,
                                                          Reference& reference, const DeviceTask& task,
                                                          std::vector<CheckRecord>& records);

}  // namespace ak::runtime
