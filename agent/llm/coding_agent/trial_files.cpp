// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/trial_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
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
// As much as a line of the server's protocol may hold.
constexpr off_t kMaxAskBytes = 8 << 20;
// Far more than any limit on evaluations: who asks so often floods the folder. Chosen.
constexpr std::size_t kMaxAsks = 10'000;
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

TrialFiles::TrialFiles(const fs::path& question_folder) : folder_(question_folder / kFolder) {
  std::error_code refused;
  fs::create_directory(folder_, refused);
  if (refused) fail(ExitCode::output, "cannot make {}: {}", folder_.string(), refused.message());
}

std::vector<TrialAsk> TrialFiles::take_new() {
  std::vector<TrialAsk> asks;
  std::error_code refused;
  for (fs::directory_iterator entry(folder_, refused), end; !refused && entry != end;
       entry.increment(refused)) {
    if (seen_.size() >= kMaxAsks) break;
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kAsk)) continue;
    name.resize(name.size() - kAsk.size());
    if (!is_name(name) || !seen_.insert(name).second) continue;
    asks.push_back({.name = name, .request = object_in(entry->path())});
  }
  std::ranges::sort(asks, {}, &TrialAsk::name);
  return asks;
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
