// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/search/search_command.h"
#include "app/setup/arguments.h"

namespace ak::tools {

/// The arguments of `generate` state a bound on errors, or leave a precision open (app/precision/precision_search.h).
[[nodiscard]] bool asks_precision(const app::Arguments& arguments);

/// The arguments once for each value of the parameters that are `auto`, which are `open`: with these values, and without
/// the bound.
struct ChosenArguments {
  std::string name;  ///< "dtype=float16"
  app::Arguments arguments;
};
[[nodiscard]] std::vector<ChosenArguments> with_each_choice(const app::Arguments& arguments,
                                                            const std::vector<ParamSpec>& open);

/// `generate` with them. Returns its exit code; throws Error(usage).
[[nodiscard]] int generate_within_error(const app::Arguments& arguments,
                                        std::chrono::steady_clock::time_point command_start,
                                        const app::ShowSearch& show);

}  // namespace ak::tools
