// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/worker_main.h"

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "core/error.h"
#include "runtime/build/compile_worker.h"
#include "runtime/process/sandbox.h"
#include "runtime/process/worker_protocol.h"
#include "runtime/reference/reference_worker.h"
#include "runtime/worker/counter_probe.h"
#include "runtime/worker/device_worker.h"
#include "runtime/worker/sandbox_probe.h"

namespace ak::runtime {
namespace {

struct Role {
  std::string_view name;
  int (*serve)(WorkerChannel&, MakeLaunchProfiler);
};

constexpr std::array kRoles{
    Role{"compile", [](WorkerChannel& channel, MakeLaunchProfiler) { return serve_compile(channel); }},
    Role{"device",
         [](WorkerChannel& channel, MakeLaunchProfiler make_profiler) {
           return serve_device(channel, {.make_profiler = make_profiler});
         }},
    Role{"watched_device", [](WorkerChannel& channel,
                              MakeLaunchProfiler) { return serve_device(channel, {.confined = false}); }},
    Role{"counters", serve_counter_probe},
    Role{"sandbox", [](WorkerChannel& channel, MakeLaunchProfiler) { return serve_sandbox_probe(channel); }},
};

const Role* find_role(std::span<const std::string> arguments) {
  if (arguments.size() != 2 || arguments[0] != "--role") return nullptr;
  for (const auto& role : kRoles)
    if (role.name == arguments[1]) return &role;
  return nullptr;
}

/// It becomes another program, so it has no channel and no threads of a worker.
constexpr std::string_view kReferenceRole = "reference";
int as_reference() {
  forbid_core_dumps();
  return become_reference_process();
}

int serve(const Role& role, MakeLaunchProfiler make_profiler) {
  forbid_core_dumps();
  WorkerChannel channel;
  const auto hello = channel.await_hello();
  return hello ? role.serve(channel, make_profiler) : static_cast<int>(ExitCode::bad_input);
}

}  // namespace

int worker_main(std::span<const std::string> arguments, MakeLaunchProfiler make_profiler) {
  const bool reference = arguments.size() == 2 && arguments[0] == "--role" && arguments[1] == kReferenceRole;
  const Role* role = find_role(arguments);
  if (role == nullptr && !reference) {
    std::fputs(
        "usage: alphakernel worker --role compile|device|watched_device|counters|sandbox|reference (started "
        "by AlphaKernel itself)\n",
        stderr);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    return reference ? as_reference() : serve(*role, make_profiler);
  } catch (const Error& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return static_cast<int>(ExitCode::internal_error);
  }
}

}  // namespace ak::runtime
