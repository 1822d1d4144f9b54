// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/worker_protocol.h"

namespace ak::runtime {

/// Serves compilations until the channel closes: confines the process (sandbox.h), then answers each
/// "compile" (a TranslationUnit) with "built" (a BuildResult). Returns the process's exit code.
int serve_compile(WorkerChannel& channel);

}  // namespace ak::runtime
