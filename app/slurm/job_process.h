// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/device/device_facts.h"
#include "core/store.h"

namespace ak::app {

/// What the script of a session's job becomes: on the job's first node it runs the session in a process of this program,
/// and with srun the workers that connect to it on all nodes; what is killed of these is started again. SIGTERM, from
/// Slurm, ends the session cleanly; SIGUSR1, the notice that the job's time ends, queues the job again afterwards.
/// Returns the session's exit code. Throws Error(usage) outside a job and in one that is not the session's,
/// Error(environment) where the session cannot be kept running.
/// @param kind of the workers' devices
/// @param of_array the job is one of an array
[[nodiscard]] int run_job(const std::filesystem::path& database, RowId session, DeviceKind kind,
                          bool of_array);

}  // namespace ak::app
