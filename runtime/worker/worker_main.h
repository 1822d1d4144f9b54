// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "runtime/cuda/profiler_factory.h"

namespace ak::runtime {

/// Body of `alphakernel worker ARGS`: serves the worker protocol (docs/worker_protocol.md) on stdin
/// and stdout until end of input, a shutdown message, or 10 s without a heartbeat. Returns the exit
/// code. Never throws.
/// @param make_profiler of device workers; null: they cannot profile
int worker_main(std::span<const std::string> arguments, MakeLaunchProfiler make_profiler = nullptr);

}  // namespace ak::runtime
