// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/file.h"

namespace ak::runtime {

/// Exit code of a child whose program could not be started, as shells say it.
inline constexpr int kExitNotStarted = 127;

/// A running child, whose standard input and output are the other end of `socket`.
struct StartedChild {
  pid_t pid = 0;
  FileDescriptor socket;  ///< blocking; of the caller
};

/// Keeps the first 64 KiB of what children write to their standard error, and refuses them the rest.
class ChildErrors {
 public:
  ChildErrors();
  [[nodiscard]] int descriptor() const { return memory_.get(); }
  [[nodiscard]] std::string text() const;
  /// What was written since it was taken last; there is room for as much again from then on. Not together with text().
  [[nodiscard]] std::string take() const;

 private:
  FileDescriptor memory_;
};

/// Starts a program in a process group of its own, with child_environment() and no other descriptor than standard
/// error, which is this process's or the one of `errors`. The system kills it when the calling thread ends, which has to reap it. Throws Error(environment); a program
/// that cannot be started ends with kExitNotStarted.
[[nodiscard]] StartedChild start_child(std::vector<std::string> argv, const ChildErrors* errors = nullptr);

/// Waits until a child can be reaped, without reaping: its process group stays the caller's to kill until then. False
/// when it still runs after `limit`.
[[nodiscard]] bool child_has_ended(pid_t pid, std::chrono::milliseconds limit);

/// The environment a child gets: of this process's, the variables of an allow-list (docs/sandbox.md) whose
/// names do not mention keys, tokens, secrets or passwords; and CUDA's disk cache off.
/// @param launcher the child is another program that starts the worker (srun, ssh): it gets what such need.
/// @param more further names that are allowed; one may end with '*'
[[nodiscard]] std::vector<std::string> child_environment(bool launcher,
                                                         std::span<const std::string_view> more = {});

}  // namespace ak::runtime
