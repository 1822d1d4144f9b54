// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "db/read/named_queries.h"
#include "tools/number_options.h"

namespace ak::tools {

// Words of older versions are understood, with a note on stderr: searches were called sessions until schema version 18.

/// `--former` as a hidden option of numbers of rows, which `set` gets like those of `--now`, with a note on stderr.
void add_former_number(CLI::App& app, const std::string& former, const std::string& now, SetInteger set);

/// `--former` as a hidden option that sets its half of what `--whole` sets, with a note on stderr.
void add_former_flag(CLI::App& app, const std::string& former, const std::string& whole, bool& set);

/// `given`, the NAME=VALUE texts of a query, by the names that its parameters have now.
[[nodiscard]] std::vector<std::string> with_present_names(const db::NamedQuery& query,
                                                          std::vector<std::string> given);

}  // namespace ak::tools
