// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace ak::runtime {

/// Runs a program of the user's to its end, and takes with it whatever it started: sessions and groups of their own,
/// too. Standard input is the lifeline: where it ends, because the process that holds the other end has ended in
/// whatever way, everything is killed. The program reads nothing, gains no privileges, leaves no core dump and writes no
/// file above a gigabyte. To be called in a process of its own without threads, started for that.
/// Returns the program's exit code, 128 + the signal that ended it, kExitNotStarted, or 137 without a lifeline.
[[nodiscard]] int supervise_program(std::span<const std::string> argv);

}  // namespace ak::runtime
