// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/manual/command_tree.h"

namespace ak::tools {

// What the scripts for the shells are made of.

/// A command line for any of the shells that prints the algorithms, of which users add their own.
inline constexpr const char* kPrintAlgorithms =
    "alphakernel algorithms 2>/dev/null | grep \"^[a-z]\" | grep -v \"^alphakernel \" | cut -d\" \" -f1";

/// The command and all below it.
[[nodiscard]] std::vector<const CommandText*> all_commands(const CommandText& command);

/// "merge" of "alphakernel db merge".
[[nodiscard]] std::string last_word(const CommandText& command);

/// Every command below the program in single quotes, between separators.
[[nodiscard]] std::string known_paths(const CommandText& program, const std::string& separator);

/// Cases of a case statement of bash and zsh on "COMMAND OPTION", for options with a value. `choices` is what
/// to do where its values are known, with {} for them; `any` where they are not.
[[nodiscard]] std::string value_cases(const CommandText& program, const std::string& choices,
                                      const std::string& any);

/// Scripts.
[[nodiscard]] std::string bash_script(const CommandText& program);
[[nodiscard]] std::string zsh_script(const CommandText& program);
[[nodiscard]] std::string fish_script(const CommandText& program);

}  // namespace ak::tools
