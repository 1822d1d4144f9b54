// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/operations/operation.h"
#include "app/setup/arguments.h"
#include "tools/command_line.h"

namespace ak::tools {

// A verb is a door to an operation: it reads its flags into the request, calls the operation, and prints the answer, as
// it is for --json, or as text made from it.

/// Runs an operation with the configuration and the database that --db names. `arguments` are stored as the command of
/// what is evaluated. Prints what the answer says of its target to standard error. Blocks. Throws Error as the operation.
[[nodiscard]] operations::Answer call_operation(std::string_view operation, const Json& request,
                                                std::string_view verb, const app::Arguments& arguments,
                                                const operations::Callbacks& callbacks = {});

/// The answer as one line of JSON on standard output.
void print_json(const operations::Answer& answer);

/// ExitCode::no_kernel where the answer says that the kernel failed.
[[nodiscard]] int exit_code_of(const operations::Answer& answer);

/// Parses the command line of a verb whose first argument, read into `word`, may name a kernel: the members of a request
/// that say which it is and for which problem. Nothing where only help was asked for. Throws Error as named_kernel() and
/// parse() do. @param app with all flags but those of the problem
[[nodiscard]] std::optional<Json> parse_kernel_request(CLI::App& app, const app::Arguments& arguments,
                                                       const std::string& word);

/// Adds a member where the text is not empty.
void add_text(Json& request, const char* name, const std::string& text);

}  // namespace ak::tools
