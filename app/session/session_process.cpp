// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/file.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto kStartTime = std::chrono::seconds(30);  // a busy machine included; chosen
constexpr auto kStopPoll = std::chrono::milliseconds(50);
constexpr auto kFollowPoll = std::chrono::milliseconds(250);
constexpr std::size_t kShutdownGrace = 2'000;

FileDescriptor open_log(const fs::path& file) {
  FileDescriptor log(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!log) fail(ExitCode::output, "cannot write the log {}: {}", file.string(), std::strerror(errno));
  return log;
}

/// In its own process; only calls that are safe after a fork.
[[noreturn]] void become(char* const* argv, int log) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  ::execv(argv[0], argv);
  ::_exit(127);
}

/// A grandchild in its own session: no terminal can end it, and init reaps it.
void spawn(std::vector<std::string> words, int log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail(ExitCode::environment, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) become(argv.data(), log);
    ::_exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) fail(ExitCode::environment, "cannot start a process");
}

std::string last_words(const fs::path& log) {
  const std::string text = read_file(log);
  return text.substr(text.size() - std::min(text.size(), kShutdownGrace));
}

}  // namespace

fs::path session_log(const fs::path& database, RowId session) {
  return database.string() + fmt::format("-session-{}.log", session);
}

void start_detached(const fs::path& database, RowId session) {
  const fs::path file = session_log(database, session);
  const FileDescriptor log = open_log(file);
  std::fflush(nullptr);
  spawn({worker_command().front(), "session", "work", std::to_string(session),
         "--db=" + fs::absolute(database).string()},
        log.get());
  const db::SessionLock lock(database);
  db::SessionStore store(database);
  const auto deadline = steady_clock::now() + kStartTime;
  while (!lock.is_taken(session) && store.read(session).status == "queued") {
    if (steady_clock::now() >= deadline)
      fail(ExitCode::environment, "session {} did not begin; its log: {}", session, last_words(file));
    std::this_thread::sleep_for(kStopPoll);
  }
}

void read_log(const fs::path& database, RowId session, bool follow, const std::atomic<bool>& stop,
              const std::function<void(std::string_view bytes)>& show) {
  const fs::path file = session_log(database, session);
  std::ifstream log(file, std::ios::binary);
  if (!log)
    fail(ExitCode::bad_input, "there is no log {}: the session ran in a terminal, or never", file.string());
  const db::SessionLock lock(database);
  for (bool last = !follow;; last = last || stop || !lock.is_taken(session)) {
    std::vector<char> bytes(64 << 10);
    while (log.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || log.gcount() > 0)
      show({bytes.data(), static_cast<std::size_t>(log.gcount())});
    if (last) return;
    log.clear();
    std::this_thread::sleep_for(kFollowPoll);
  }
}

}  // namespace ak::app
