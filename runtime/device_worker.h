// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/worker_protocol.h"

namespace ak::runtime {

/// Serves one device until the channel closes or the device is lost (docs/device_messages.md): "describe",
/// "open" and "evaluate". Returns the process's exit code.
int serve_device(WorkerChannel& channel);

}  // namespace ak::runtime
