// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/trial_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_line.h"

namespace ak::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "trials";
constexpr std::string_view kAsk = ".ask.json", kTold = ".told.json";
// A kernel, every byte of it escaped, with room for what else a call says.
constexpr off_t kMaxAskBytes = 8 << 20;
constexpr auto kLook = std::chrono::milliseconds(50);

/// The object in a file that anyone may have put there; null where it is none.
Json object_in(const fs::path& file) {
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxAskBytes)
    return nullptr;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const Result<Json> json = parse_json_line(text);
  return json && json->is_object() ? *json : Json();
}

bool is_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

}  // namespace

/// A path by way of the descriptor leads to the same folder when the agent has moved it, and left a link in its place.
TrialFiles::TrialFiles(const fs::path& question_folder) {
  const fs::path made = question_folder / kFolder;
  if (::mkdir(made.c_str(), S_IRWXU) == 0)
    held_.reset(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!held_) fail(ExitCode::output, "cannot make {}: {}", made.string(), std::strerror(errno));
  folder_ = fmt::format("/proc/self/fd/{}", held_.get());
}

std::vector<std::string> TrialFiles::take_new() {
  std::vector<std::string> names;
  std::error_code refused;
  std::size_t entries = 0;
  for (fs::directory_iterator entry(folder_, refused), end;
       !refused && entry != end && names.size() < kMostTaken; entry.increment(refused)) {
    flooded_ = flooded_ || ++entries > kMaxTrialEntries;
    if (flooded_) break;
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kAsk)) continue;
    name.resize(name.size() - kAsk.size());
    if (is_name(name) && seen_.insert(name).second) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

Json TrialFiles::request_of(const std::string& name) const {
  return object_in(folder_ / (name + std::string(kAsk)));
}

bool TrialFiles::tell(const std::string& name, const Json& answer) const {
  try {
    write_file_atomically(folder_ / (name + std::string(kTold)), one_line(answer));
    return true;
  } catch (const Error&) {
    return false;  // the agent has made its folder read-only, or the disk is full
  }
}

Json ask_search(const fs::path& question_folder, const Json& request) {
  const fs::path folder = question_folder / kFolder;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string name =
      fmt::format("{}-{}", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), ::getpid());
  const fs::path told = folder / (name + std::string(kTold));
  std::error_code gone;
  const auto require_open = [&] {
    if (!fs::is_directory(folder, gone))
      fail(ExitCode::bad_input, "the question is over: nobody waits for an answer any more");
  };
  require_open();
  write_file_atomically(folder / (name + std::string(kAsk)), one_line(request));
  while (!fs::exists(told, gone)) {
    require_open();
    std::this_thread::sleep_for(kLook);
  }
  const Json answer = object_in(told);
  if (!answer.is_object()) fail(ExitCode::bad_input, "the answer of the search was changed");
  return answer;
}

}  // namespace ak::agent
