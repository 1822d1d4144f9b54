// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/worker_main.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text/locations.h"
#include "runtime/build/compile_worker.h"
#include "runtime/fleet/tcp_socket.h"
#include "runtime/fleet/worker_link.h"
#include "runtime/process/sandbox.h"
#include "runtime/process/supervisor.h"
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

const Role* find_role(std::string_view name) {
  for (const auto& role : kRoles)
    if (role.name == name) return &role;
  return nullptr;
}

/// The options of the program, each with a value.
using Options = std::map<std::string_view, std::string>;
std::optional<Options> options_in(std::span<const std::string> arguments) {
  Options options{{"--role", ""}, {"--listen", ""}, {"--connect", ""}, {"--token-file", ""}};
  if (arguments.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const auto option = options.find(arguments[i]);
    if (option == options.end()) return std::nullopt;
    option->second = arguments[i + 1];
  }
  return options;
}

/// It becomes another program, so it has no channel and no threads of a worker.
constexpr std::string_view kReferenceRole = "reference";
int as_reference() {
  forbid_core_dumps();
  return become_reference_process();
}

/// A supervisor runs a program of the user's and has no channel either.
constexpr std::array<std::string_view, 2> kSupervisorWords{"--role", "supervisor"};
bool is_supervisor(std::span<const std::string> arguments) {
  return arguments.size() > kSupervisorWords.size() &&
         std::equal(kSupervisorWords.begin(), kSupervisorWords.end(), arguments.begin()) &&
         is_supervisors_order(arguments.subspan(kSupervisorWords.size()));
}

/// One of the two ends of a worker elsewhere: no candidate runs in this process (docs/fleet.md).
int link(const Options& options) {
  const std::string &listen = options.at("--listen"), &connect = options.at("--connect");
  if (!listen.empty())
    return await_worker(parse_fleet_address(listen), options.at("--token-file"), options.at("--role"));
  serve_controller(parse_fleet_address(connect), options.at("--token-file"),
                   {program_file().string(), "worker"});
}

constexpr const char* kUsage =
    "usage: alphakernel worker --connect HOST:PORT --token-file FILE   (a device for a pool, docs/fleet.md)\n"
    "       alphakernel worker --role compile|device|watched_device|counters|sandbox|reference   (started by "
    "AlphaKernel itself)\n";

bool asks_for_help(std::span<const std::string> arguments) {
  return arguments.size() == 1 && (arguments.front() == "--help" || arguments.front() == "-h");
}

int serve(const Role& role, MakeLaunchProfiler make_profiler) {
  forbid_core_dumps();
  WorkerChannel channel;
  const auto hello = channel.await_hello();
  return hello ? role.serve(channel, make_profiler) : static_cast<int>(ExitCode::bad_input);
}

}  // namespace

int worker_main(std::span<const std::string> arguments, MakeLaunchProfiler make_profiler) {
  const bool supervisor = is_supervisor(arguments);
  const auto options = options_in(arguments);
  const std::string name = options ? options->at("--role") : "";
  const bool reference = name == kReferenceRole;
  const Role* role = find_role(name);
  const bool linked = options && !options->at("--token-file").empty() &&
                      (options->at("--connect").empty() ? role != nullptr && !options->at("--listen").empty()
                                                        : name.empty() && options->at("--listen").empty());
  if (!linked && role == nullptr && !reference && !supervisor) {
    const bool help = asks_for_help(arguments);
    std::fputs(kUsage, help ? stdout : stderr);
    return static_cast<int>(help ? ExitCode::ok : ExitCode::usage);
  }
  try {
    if (supervisor) return supervise_program(arguments.subspan(kSupervisorWords.size()));
    if (linked) return link(*options);
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
