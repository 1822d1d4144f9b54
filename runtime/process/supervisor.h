// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace ak::runtime {

/// Runs a program of the user's to its end, and takes with it whatever it started: sessions and groups of their own,
/// too. Standard input is the lifeline: where a byte comes or it ends, because the process that holds the other end has
/// ended in whatever way, everything is killed. The program reads nothing, gains no privileges, leaves no core dump and
/// stops where a file grows beyond a gigabyte. To be called in a process of its own without threads, started for that.
/// @param words "[--scratch FOLDER] -- PROGRAM ARGUMENTS". Where the lifeline ends without a byte, nobody else is left
///        to remove FOLDER, and it is removed.
/// Returns the program's exit code, 128 + the signal that ended it, kExitNotStarted, or 137 without a lifeline.
[[nodiscard]] int supervise_program(std::span<const std::string> words);
[[nodiscard]] bool is_supervisors_order(std::span<const std::string> words);

/// In a process below a supervisor that has to write larger files.
void lift_file_limit();

}  // namespace ak::runtime
