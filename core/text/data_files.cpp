// SPDX-License-Identifier: Apache-2.0
#include "core/text/data_files.h"

#include <cstdlib>
#include <sstream>

#include "core/text/locations.h"

namespace ak {

namespace fs = std::filesystem;

std::vector<fs::path> data_search_path(const char* variable, const std::string& name,
                                       const fs::path& source) {
  std::vector<fs::path> path;
  if (const char* extra = std::getenv(variable)) {
    std::istringstream folders(extra);
    for (std::string folder; std::getline(folders, folder, ':');) path.emplace_back(folder);
  }
  path.push_back((program_file().parent_path() / AK_DATA_FROM_PROGRAMS / name).lexically_normal());
  path.push_back(source);
  return path;
}

}  // namespace ak
