// SPDX-License-Identifier: Apache-2.0
#include "app/setup/program_paths.h"

#include <cstdlib>

#include "core/text/locations.h"

namespace ak::app {

std::vector<std::string> worker_command() { return {program_file().string(), "worker"}; }

std::filesystem::path default_cache_dir() {
  if (const char* dir = std::getenv("ALPHAKERNEL_CACHE"); dir && *dir) return dir;
  if (const char* dir = std::getenv("XDG_CACHE_HOME"); dir && *dir)
    return std::filesystem::path(dir) / "alphakernel";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "alphakernel";
  return {};
}

}  // namespace ak::app
