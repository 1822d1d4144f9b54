// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_folder.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr RowId kOnlyLock = 1;
constexpr const char* kProject = "pyproject.toml";  // what pip reads first
constexpr const char* kHidden = ".alphakernel-new";

void require(const std::error_code& error, const fs::path& path) {
  if (error) fail(ExitCode::output, "cannot write {}: {}", path.string(), error.message());
}

/// Every file below a folder, as paths there.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->is_directory()) files.push_back(fs::relative(at->path(), folder));
  return files;
}

/// Of a package that says what is in it, that; of one of an older version all of its own folder, and what all have beside it.
void add_files_of(const fs::path& folder, const fs::path& name, const Json& description,
                  std::set<fs::path>& owned) {
  owned.insert(name / "library.json");
  if (const auto files = description.find("files"); files != description.end() && files->is_object()) {
    for (const auto& [path, hash] : files->items()) owned.insert(path);
    return;
  }
  for (const fs::path& file : files_below(folder / name)) owned.insert(name / file);
  for (const char* file : {kProject, "alphakernel_build.py", "README.md"}) owned.insert(file);
  for (const fs::path& file : files_below(folder / "images")) owned.insert(fs::path("images") / file);
}

/// Files of the packages that earlier builds left in a folder.
std::set<fs::path> files_of_packages(const fs::path& folder) {
  std::set<fs::path> owned;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path description = entry.path() / "library.json";
    if (!fs::exists(description, error)) continue;
    const Json json = try_parse_json(read_file(description));
    if (says_format(json, kPackageFormat)) add_files_of(folder, entry.path().filename(), json, owned);
  }
  return owned;
}

void remove_with_empty_folders(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  fs::remove(folder / file, error);
  require(error, folder / file);
  for (fs::path above = file.parent_path(); !above.empty(); above = above.parent_path()) {
    std::error_code not_empty;
    if (!fs::remove(folder / above, not_empty)) return;
  }
}

}  // namespace

void make_package_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ExitCode::output, "cannot make {}: {}", folder.string(), error.message());
}

PackageFolder::PackageFolder(const fs::path& folder, bool force) : folder_(folder), force_(force) {
  if (folder.empty()) fail(ExitCode::usage, "--output is empty; expected a folder");
  is_new_ = !fs::exists(folder_);
  require_empty();
  hidden_ = folder_ / kHidden;
  made_ = hidden_ / "made";
  make_package_folder(hidden_);
  lock_ = std::make_unique<db::ProcessLocks>(hidden_ / "package");
  if (!lock_->try_hold(kOnlyLock)) {
    lock_.reset();
    fail(ExitCode::output, "another process makes a package for {}", folder.string());
  }
  std::error_code error;
  fs::remove_all(made_, error);  // of a process that was killed
  make_package_folder(made_);
}

PackageFolder::~PackageFolder() {
  std::error_code ignored;
  if (!lock_ || keep_) return;
  fs::remove_all(hidden_, ignored);
  if (is_new_) fs::remove(folder_, ignored);  // where nothing was published
}

void PackageFolder::require_empty() const {
  if (!fs::exists(folder_)) return;
  if (!fs::is_directory(folder_)) fail(ExitCode::output, "{} is not a folder", folder_.string());
  if (force_) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.path().filename() != kHidden)
      fail(ExitCode::output, "{} is not empty; --force writes into it", folder_.string());
}

void PackageFolder::publish() {
  require_empty();  // it may have been filled meanwhile
  std::vector<fs::path> files = files_below(made_);
  const std::set<fs::path> owned = files_of_packages(folder_);
  for (const fs::path& file : files)
    if (fs::exists(folder_ / file) && !owned.contains(file))
      fail(ExitCode::output, "{} is there, and is of no package: move it, or name another --output",
           (folder_ / file).string());
  keep_ = true;  // from here on the folder has less than it had
  if (owned.contains(kProject)) remove_with_empty_folders(folder_, kProject);
  for (const fs::path& file : owned) remove_with_empty_folders(folder_, file);
  std::ranges::sort(files, {}, [](const fs::path& file) { return file == kProject; });
  for (const fs::path& file : files) {
    make_package_folder((folder_ / file).parent_path());
    std::error_code error;
    fs::rename(made_ / file, folder_ / file, error);
    require(error, folder_ / file);
  }
  keep_ = false;
}

}  // namespace ak::app
