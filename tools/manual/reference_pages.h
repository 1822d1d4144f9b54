// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tools/manual/command_tree.h"

namespace ak::tools {

// Pages in Markdown that are made from the tables of the program.

/// Every subcommand with its arguments, options and examples, from what the verbs declare.
[[nodiscard]] std::string cli_page(const CommandText& program);
/// Every exit code, from core/exit_codes.h.
[[nodiscard]] std::string exit_code_page();
/// Every table and view with its columns, from a new database, which is made in a folder for temporary files. Throws
/// Error(database) where that cannot be written.
[[nodiscard]] std::string schema_page();

/// All of these, by their path below docs/.
[[nodiscard]] std::map<std::string, std::string> reference_pages();

/// Text for a cell of a table: on one line, a bar and angle brackets shown as they are.
[[nodiscard]] std::string table_cell(const std::string& text);

}  // namespace ak::tools
