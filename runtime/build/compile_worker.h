// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "runtime/process/worker_protocol.h"

namespace ak::runtime {

/// Address space of a compile worker. NVRTC maps 0.5 GB with a precompiled header loaded (measured, 13.0); a
/// source that needs four times that does not describe a kernel.
inline constexpr std::size_t kCompileWorkerBytes = std::size_t{2} << 30;

/// CPU time of one build, all threads together. The parent's deadline comes first unless
/// the parent hangs.
inline constexpr std::chrono::seconds kBuildCpuTime{120};

/// Serves compilations until the channel closes: confines the process (sandbox.h), then answers each
/// "compile" (a TranslationUnit) with "built" (a BuildResult). Returns the process's exit code.
/// @param other answers other requests, for tests; they end the worker when there is none.
int serve_compile(WorkerChannel& channel, RequestHandler other = nullptr);

}  // namespace ak::runtime
