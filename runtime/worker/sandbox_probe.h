// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/process/worker_protocol.h"

namespace ak::runtime {

/// The role `sandbox`: confines itself as tightly as any worker, tries what is then forbidden, and
/// says in its hello what held: `protections`, a list of {part, in_force, detail, cost, remedy}.
/// Returns the exit code.
int serve_sandbox_probe(WorkerChannel& channel);

}  // namespace ak::runtime
