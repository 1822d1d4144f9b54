// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/counter_probe.h"

#include "core/error.h"
#include "runtime/cuda/device_context.h"
#include "runtime/cuda/launch_profiler.h"

namespace ak::runtime {
namespace {

std::string unavailable_reason(MakeLaunchProfiler make_profiler) try {
  if (make_profiler == nullptr) return "this program has no profiler";
  const DeviceContext context(0);
  return make_profiler(context.ordinal())->unavailable_reason();
} catch (const Error& error) {
  return error.what();
}

}  // namespace

int serve_counter_probe(WorkerChannel& channel, MakeLaunchProfiler make_profiler) {
  channel.answer_hello({{"obstacle", unavailable_reason(make_profiler)}});
  while (channel.receive()) {
  }
  return static_cast<int>(ExitCode::ok);
}

}  // namespace ak::runtime
