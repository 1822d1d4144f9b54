// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/evaluate/claimed_output.h"
#include "app/search/search_command.h"

namespace ak::tools {

/// The flags of the subcommands that search, generate and tune.
void add_search_flags(CLI::App& app, app::SearchFlags& flags);

/// Call after parsing. Where no output is named it is `by_default`; a note on stderr says so, or that a file that is
/// there will be replaced.
void choose_output(app::SearchFlags& flags, app::ClaimedOutput by_default);

}  // namespace ak::tools
