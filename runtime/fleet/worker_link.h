// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace ak::runtime {

struct FleetAddress;

/// A connecting worker without a controller leaves after this; a controller that was started again finds it until then.
inline constexpr std::chrono::seconds kControllerAbsence{60};

/// The controller's end of a worker that connects: takes the place of a worker's process, waits for one worker, and
/// moves its protocol between the connection and this process's standard input and output, until one of them ends.
/// Who does not have the token is turned away, with a note on standard error. Returns the exit code: the worker's own
/// where it ended, 128 and the signal where one ended it, kExitConnectionLost where it is not known what became of it.
/// Throws Error when nothing can be listened to.
[[nodiscard]] int await_worker(const FleetAddress& address, const std::filesystem::path& token_file,
                               const std::string& role);

/// How long a worker waits before it connects again, when a connection has ended that it waited `pause` for. One that is
/// turned away again and again leaves the place to others.
[[nodiscard]] std::chrono::milliseconds next_pause(std::chrono::milliseconds pause,
                                                   std::chrono::steady_clock::duration served);

/// The worker's end: connects to a controller, starts `worker_command` with the role that this asks for, and starts
/// over with a new process whenever the connection ends. Throws Error(environment) after kControllerAbsence without a
/// controller, with the reason.
[[noreturn]] void serve_controller(const FleetAddress& address, const std::filesystem::path& token_file,
                                   const std::vector<std::string>& worker_command);

}  // namespace ak::runtime
