// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "app/setup/config.h"

namespace ak::app {

struct CountingResult {
  int counted = 0, failed = 0;  ///< variants
};

/// Counts on the CPU device what the measured variants of `database` do that were not counted yet, at most
/// `per_space` of each definition and file (0: all), on reduced shapes, and commits it to the same file.
/// Their problems must be installed. Prints one line per definition to stderr.
[[nodiscard]] CountingResult count_variants(const std::filesystem::path& database, const std::string& arch,
                                            int per_space, const Config& config);

}  // namespace ak::app
