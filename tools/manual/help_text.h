// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/manual/command_tree.h"

namespace ak::tools {

/// What --help prints of a command: what it does, its usage, its options by groups, its subcommands and examples, in
/// lines of at most `columns` characters; examples stay as they are.
[[nodiscard]] std::string help_text(const CommandText& command, int columns);

/// What `alphakernel --help` prints: every verb, by groups.
[[nodiscard]] std::string program_help(int columns);

/// Characters of a line of help: what the terminal behind standard output has, within what can be read well.
[[nodiscard]] int help_columns();

}  // namespace ak::tools
