// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_files.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "template_files.h"

namespace ak::codegen {
namespace {

namespace fs = std::filesystem;

/// The compiled-in files below `folder`, by their paths from there.
std::set<std::string> compiled_in_below(const fs::path& folder) {
  std::set<std::string> paths;
  for (const EmbeddedFile& file : template_files()) {
    const std::string full = compiled_in_folder(file.name).string(), above = folder.string() + "/";
    if (full.starts_with(above)) paths.insert(full.substr(above.size()));
  }
  return paths;
}

}  // namespace

std::vector<std::string> problem_folder_names(const fs::path& root) {
  std::set<std::string> names;
  if (is_compiled_in(root)) {
    for (const std::string& name : compiled_in_below(root)) {
      const fs::path path(name);
      if (path.filename() == kProblemFile) names.insert(path.parent_path().string());
    }
  } else {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root, missing))
      if (fs::exists(entry.path() / kProblemFile)) names.insert(entry.path().filename().string());
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> problem_file_names(const fs::path& folder) {
  std::set<std::string> names;
  if (is_compiled_in(folder)) {
    names = compiled_in_below(folder);
  } else {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(folder, unreadable))
      names.insert(entry.path().filename().string());
    if (unreadable) fail(ExitCode::bad_input, "{}: {}", folder.string(), unreadable.message());
  }
  return {names.begin(), names.end()};
}

bool has_problem_file(const fs::path& folder, std::string_view name) {
  const fs::path file = folder / name;
  return is_compiled_in(folder) ? find_compiled_in(template_files(), file) != nullptr : fs::exists(file);
}

std::string read_problem_file(const fs::path& folder, std::string_view name) {
  if (!is_compiled_in(folder)) return read_file(file_inside(folder, name));
  const EmbeddedFile* file = find_compiled_in(template_files(), folder / name);
  if (file == nullptr) fail(ExitCode::bad_input, "{}: there is no such file", (folder / name).string());
  return std::string(file->text);
}

}  // namespace ak::codegen
