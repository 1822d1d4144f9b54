// SPDX-License-Identifier: Apache-2.0
#include "tools/library/tuning_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/text/file.h"
#include "tools/verb.h"

namespace ak::tools {

namespace fs = std::filesystem;

namespace {

/// While it lives, what is printed to stdout goes to stderr: of a verb inside another, whose stdout may be JSON.
class StdoutAsStderr {
 public:
  StdoutAsStderr() {
    std::fflush(stdout);
    stdout_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (stdout_ >= 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutAsStderr() {
    if (stdout_ < 0) return;
    std::fflush(stdout);
    ::dup2(stdout_, STDOUT_FILENO);
    ::close(stdout_);
  }
  StdoutAsStderr(const StdoutAsStderr&) = delete;
  StdoutAsStderr& operator=(const StdoutAsStderr&) = delete;

 private:
  int stdout_ = -1;
};

}  // namespace

std::string entries_text(const std::vector<app::PackageEntry>& entries) {
  std::vector<std::string> texts;
  for (const app::PackageEntry& entry : entries) {
    std::string params;
    for (const auto& [name, value] : entry.params) params += fmt::format(" {}={}", name, value);
    texts.push_back(fmt::format("  {}: {}{}", entry.name, entry.problem, params));
  }
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string write_tuning_manifest(const std::string& package, const app::TuningOrder& order) {
  fs::path file = fs::path(package).lexically_normal();
  if (!file.has_filename()) file = file.parent_path();
  file += ".tune.json";
  write_file_atomically(file, app::tuning_manifest(order).dump(2) + "\n");
  return file.string();
}

void run_tuning_session(const std::string& manifest, const fs::path& database) {
  const auto session = std::ranges::find(verbs(), "session", [](const Verb* verb) { return verb->name; });
  const fs::path folder = fs::path(manifest).replace_extension("");
  std::error_code error;
  fs::create_directories(folder, error);  // where it cannot be made the session says so
  const StdoutAsStderr moved;
  const int code = (*session)->run(
      {"start", manifest, "--foreground", "--db", database.string(), "--output-folder", folder.string()});
  if (code != 0) fmt::print(stderr, "the session ended with exit code {}: what it found is used\n", code);
}

}  // namespace ak::tools
