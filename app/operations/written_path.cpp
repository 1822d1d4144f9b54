// SPDX-License-Identifier: Apache-2.0
#include "app/operations/written_path.h"

#include "core/error.h"

namespace ak::operations {

namespace fs = std::filesystem;

fs::path below_working_directory(const std::string& given, std::string_view what) {
  const fs::path path = fs::absolute(given).lexically_normal();
  const fs::path named = path.has_filename() ? path : path.parent_path();
  std::error_code missing;
  const fs::path folder = fs::canonical(named.parent_path(), missing);
  if (missing)
    fail(ExitCode::usage, "{} '{}': the folder {} does not exist", what, given, named.parent_path().string());
  const fs::path root = fs::canonical(fs::current_path());
  const fs::path relative = (folder / named.filename()).lexically_relative(root);
  if (relative.empty() || relative == "." || *relative.begin() == "..")
    fail(ExitCode::usage, "{} '{}' is outside of the working directory {}; files are written below it only",
         what, given, root.string());
  return folder / named.filename();
}

fs::path new_folder(const std::string& given) {
  const fs::path folder = below_working_directory(given, "folder");
  const fs::file_status there = fs::symlink_status(folder);
  const bool usable = !fs::exists(there) || (fs::is_directory(there) && fs::is_empty(folder));
  if (!usable) fail(ExitCode::usage, "folder '{}': expected a name that is free, or an empty folder", given);
  return folder;
}

}  // namespace ak::operations
