// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_folder.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr RowId kOnlyLock = 1;
constexpr const char* kProject = "pyproject.toml";  // what pip reads first

/// A name beside the folder: renames stay on one file system.
fs::path beside(const fs::path& folder) {
  fs::path name = fs::absolute(folder).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  name += ".new";
  return name;
}

void require(const std::error_code& error, const fs::path& path) {
  if (error) fail(ExitCode::output, "cannot write {}: {}", path.string(), error.message());
}

void make(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ExitCode::output, "cannot make {}: {}", folder.string(), error.message());
}

/// What packages of earlier builds have in a folder.
std::vector<fs::path> parts_of_packages(const fs::path& folder) {
  std::vector<fs::path> parts;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path description = entry.path() / "library.json";
    if (!fs::exists(description, error)) continue;
    const Json json = try_parse_json(read_file(description));
    if (json.is_object() && json.value("format", Json()) == "alphakernel.kernel_library")
      parts.push_back(entry.path());
  }
  if (!parts.empty()) parts.push_back(folder / "images");
  return parts;
}

void move_into(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::rename(from, to, error);
  require(error, to);
}

}  // namespace

PackageFolder::PackageFolder(const fs::path& folder, bool force) : folder_(folder), force_(force) {
  if (folder.empty()) fail(ExitCode::usage, "--output is empty; expected a folder");
  beside_ = beside(folder);
  made_ = beside_ / "made";
  require_empty();
  make(beside_);
  lock_ = std::make_unique<db::ProcessLocks>(beside_ / "package");
  if (!lock_->try_hold(kOnlyLock))
    fail(ExitCode::output, "another process makes a package for {}", folder.string());
  std::error_code error;
  fs::remove_all(made_, error);  // of a process that was killed
  make(made_);
}

PackageFolder::~PackageFolder() {
  std::error_code ignored;
  if (lock_) fs::remove_all(beside_, ignored);
}

void PackageFolder::require_empty() const {
  if (!fs::exists(folder_)) return;
  if (!fs::is_directory(folder_)) fail(ExitCode::output, "{} is not a folder", folder_.string());
  if (!force_ && !fs::is_empty(folder_))
    fail(ExitCode::output, "{} is not empty; --force writes into it", folder_.string());
}

void PackageFolder::publish() {
  require_empty();  // it may have been filled meanwhile
  make(folder_);
  std::error_code error;
  fs::remove(folder_ / kProject, error);
  for (const fs::path& part : parts_of_packages(folder_)) {
    fs::remove_all(part, error);
    require(error, part);
  }
  std::vector<fs::path> parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(made_)) parts.push_back(entry.path());
  std::ranges::sort(parts, {}, [](const fs::path& part) { return part.filename() == kProject; });
  for (const fs::path& part : parts) move_into(part, folder_ / part.filename());
}

}  // namespace ak::app
