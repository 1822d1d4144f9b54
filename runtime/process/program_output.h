// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/result.h"

namespace ak::runtime {

/// Runs a program of the user's own to its end and returns what it wrote to standard output; its standard error
/// goes nowhere. `argv[0]` is looked for on PATH. The error says why there is nothing: it cannot be started, fails,
/// takes longer than `limit` (then it is killed), or writes more than 1 MiB.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& environment,
                                            std::chrono::milliseconds limit);

}  // namespace ak::runtime
