// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/evaluation.h"
#include "runtime/check/data_set.h"

namespace ak::runtime {

/// Corrupts the correct results of every workload and distribution of `task` with task.mutation (of
/// kAutomaticMutations) and compares them as a candidate's are: one record for each output in which the
/// mutation can be made. Nothing when it ran to its end; else why a data set cannot be made.
[[nodiscard]] std::optional<Outcome> check_automatic_mutation(RunContext& run_context, DataStore& store,
                                                              const DeviceTask& task,
                                                              std::vector<CheckRecord>& records);

}  // namespace ak::runtime
