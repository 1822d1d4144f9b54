// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_main.h"

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "core/error.h"
#include "runtime/compile_worker.h"
#include "runtime/device_worker.h"
#include "runtime/sandbox.h"
#include "runtime/sandbox_probe.h"
#include "runtime/worker_protocol.h"

namespace ak::runtime {
namespace {

struct Role {
  std::string_view name;
  int (*serve)(WorkerChannel&);
};

constexpr std::array kRoles{
    Role{"compile", [](WorkerChannel& channel) { return serve_compile(channel); }},
    Role{"device", [](WorkerChannel& channel) { return serve_device(channel); }},
    Role{"watched_device", serve_watched_device},
    Role{"sandbox", serve_sandbox_probe},
};

const Role* find_role(std::span<const std::string> arguments) {
  if (arguments.size() != 2 || arguments[0] != "--role") return nullptr;
  for (const auto& role : kRoles)
    if (role.name == arguments[1]) return &role;
  return nullptr;
}

int serve(const Role& role) {
  forbid_core_dumps();
  WorkerChannel channel;
  const auto hello = channel.await_hello();
  return hello ? role.serve(channel) : static_cast<int>(ExitCode::bad_input);
}

}  // namespace

int worker_main(std::span<const std::string> arguments) {
  const Role* role = find_role(arguments);
  if (role == nullptr) {
    std::fputs(
        "usage: alphakernel worker --role compile|device|watched_device|sandbox (started by AlphaKernel "
        "itself)\n",
        stderr);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    return serve(*role);
  } catch (const Error& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return static_cast<int>(ExitCode::internal_error);
  }
}

}  // namespace ak::runtime
