// SPDX-License-Identifier: Apache-2.0
#include "app/problem/new_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

}  // namespace

NewFolder::NewFolder(const fs::path& wanted)
    : wanted_(fs::absolute(wanted).lexically_normal()), path_(wanted_) {
  if (!path_.has_filename()) path_ = path_.parent_path();
  wanted_ = path_;
  path_ += fmt::format(".{}.tmp", ::getpid());
  if (!is_free()) fail(ExitCode::output, "{} exists and is not empty", wanted.string());
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) fail(ExitCode::output, "cannot make {}: {}", path_.string(), error.message());
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool NewFolder::is_free() const {
  return !fs::exists(wanted_) || (fs::is_directory(wanted_) && fs::is_empty(wanted_));
}

void NewFolder::keep() {
  std::error_code error;
  fs::remove(wanted_, error);  // an empty folder
  keep_as(wanted_);
}

void NewFolder::keep_as(const fs::path& other) {
  std::error_code error;
  fs::rename(path_, other, error);
  if (error) fail(ExitCode::output, "cannot make {}: {}", other.string(), error.message());
}

}  // namespace ak::app
