// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ak::app {

/// {"<alphakernel>", "worker"}, see program_file().
[[nodiscard]] std::vector<std::string> worker_command();

/// $ALPHAKERNEL_CACHE, else $XDG_CACHE_HOME/alphakernel, else ~/.cache/alphakernel; empty when there
/// is not a home.
[[nodiscard]] std::filesystem::path default_cache_dir();

}  // namespace ak::app
