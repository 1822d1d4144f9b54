// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/kernel_choice.h"
#include "app/setup/arguments.h"

namespace ak::tools {

// A kernel among the arguments says which problem it is of, and the problem which flags there are: it has to be found
// before the command line can be parsed.

/// Declares the next argument of a verb as a kernel, named in any of the ways of app::choose_kernel(); it is required.
CLI::Option* add_kernel(CLI::App& app, const std::string& name, std::string& word);

/// The words of `arguments` that are neither flags nor values of flags. Flags that `app` does not know yet may be those
/// of a problem, with a value each.
[[nodiscard]] std::vector<std::string> plain_words(const CLI::App& app, const app::Arguments& arguments);

/// The kernel that the first plain word names. Nothing where there is no such word, or only help is asked for. Throws
/// Error as app::choose_kernel() does, or for a mistake in the flags that are known. @param app with all flags but
/// those of the problem
[[nodiscard]] std::optional<app::KernelChoice> named_kernel(CLI::App& app, const app::Arguments& arguments,
                                                            const std::filesystem::path& database);

/// --help or -h is among the arguments.
[[nodiscard]] bool asks_for_help(const app::Arguments& arguments);

/// The database that --db names among the arguments, else the configured one.
[[nodiscard]] std::filesystem::path named_database(const app::Arguments& arguments);

}  // namespace ak::tools
