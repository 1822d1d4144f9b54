// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/check/data_set.h"

namespace ak::runtime {

/// Writes inputs and exact references of every workload and distribution of `task` as raw files, and
/// index.json, into the existing folder task.dump_dir (docs/checking.md). Where the folder has inputs of the
/// caller's for a workload (given_input_file), these are one more distribution, "given". Nothing when all is well;
/// else why a data set cannot be made. Throws Error(output) when a file cannot be written, Error(bad_input) where an
/// input's file has another length.
[[nodiscard]] std::optional<Outcome> dump_data_sets(RunContext& run_context, DataStore& store,
                                                    const DeviceTask& task);

}  // namespace ak::runtime
