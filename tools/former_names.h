// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/text/print_stderr.h"
#include "db/read/named_queries.h"

namespace ak::tools {

// Searches were called sessions until schema version 18: words of that time are understood, with a note on stderr.

/// `--former` as a hidden flag that fills `value` like `--now`, with a note on stderr.
template <class T>
void add_former_flag(CLI::App& app, const std::string& former, const std::string& now, T& value) {
  app.add_option_function<T>(former,
                             [&value, former, now](const T& given) {
                               print_stderr("note: {} is called {} now\n", former, now);
                               value = given;
                             })
      ->group("");
}

/// `given`, the NAME=VALUE texts of a query, by the names that its parameters have now.
[[nodiscard]] std::vector<std::string> with_present_names(const db::NamedQuery& query,
                                                          std::vector<std::string> given);

}  // namespace ak::tools
