// SPDX-License-Identifier: Apache-2.0
#include "core/text/data_files.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/text/locations.h"

namespace ak {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiledIn = "compiled-in:";

/// Elsewhere the source tree is one that the program was once built from, and may have changed since.
bool program_is_in_its_build_folder() {
  std::error_code missing;
  const fs::path build = fs::canonical(AK_BUILD_FOLDER, missing);
  if (missing) return false;
  const fs::path program = fs::weakly_canonical(program_file(), missing);
  return std::ranges::mismatch(build, program).in1 == build.end();
}

}  // namespace

std::vector<fs::path> data_search_path(const char* variable, const std::string& name,
                                       const fs::path& source) {
  std::vector<fs::path> path;
  if (const char* extra = std::getenv(variable)) {
    std::istringstream folders(extra);
    for (std::string folder; std::getline(folders, folder, ':');) path.emplace_back(folder);
  }
  path.push_back((program_file().parent_path() / AK_DATA_FROM_PROGRAMS / name).lexically_normal());
  if (program_is_in_its_build_folder()) path.push_back(source);
  return path;
}

fs::path compiled_in_folder(std::string_view name) { return std::string(kCompiledIn) + std::string(name); }

bool is_compiled_in(const fs::path& path) { return path.native().starts_with(kCompiledIn); }

const EmbeddedFile* find_compiled_in(std::span<const EmbeddedFile> files, const fs::path& path) {
  if (!is_compiled_in(path)) return nullptr;
  const std::string_view name = std::string_view(path.native()).substr(kCompiledIn.size());
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace ak
