// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/profiler_factory.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {

/// The role `counters`: takes hold of device 0's hardware counters and says in its hello how that went:
/// `unavailable_reason`, empty when they can be read. Returns the exit code.
int serve_counter_probe(WorkerChannel& channel, MakeLaunchProfiler make_profiler);

}  // namespace ak::runtime
