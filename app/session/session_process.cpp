// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
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
#include "core/text/json.h"
#include "core/text/suggest.h"
#include "core/time_limit.h"
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
[[noreturn]] void become(char* const* argv, int out, int err) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  ::execv(argv[0], argv);
  ::_exit(127);
}

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

/// A grandchild in its own session: no terminal can end it, and init reaps it.
void spawn(std::vector<std::string> words, int log) {
  const std::vector<char*> argv = argv_of(words);
  const pid_t child = ::fork();
  if (child < 0) fail(ExitCode::environment, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) become(argv.data(), log, log);
    ::_exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) fail(ExitCode::environment, "cannot start a process");
}

struct EndedProgram {
  int exit_code = 0;
  std::string out, err;
};

FileDescriptor memory_file() {
  FileDescriptor file(::memfd_create("output", MFD_CLOEXEC));
  if (!file) fail(ExitCode::environment, "cannot start a process: {}", std::strerror(errno));
  return file;
}

std::string text_of(const FileDescriptor& file) {
  std::string text;
  char chunk[4096];
  for (ssize_t count = 0;
       (count = ::pread(file.get(), chunk, sizeof chunk, static_cast<off_t>(text.size()))) > 0;)
    text.append(chunk, static_cast<std::size_t>(count));
  return text;
}

/// Runs this program and waits for its end.
EndedProgram run_program(std::vector<std::string> words) {
  const FileDescriptor out = memory_file(), err = memory_file();
  const std::vector<char*> argv = argv_of(words);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail(ExitCode::environment, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) become(argv.data(), out.get(), err.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return {
      .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = text_of(out), .err = text_of(err)};
}

/// The last line that is not empty: of an error, its message.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
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

RowId start_session(const fs::path& manifest, const fs::path& outputs, const fs::path& database) {
  const EndedProgram ended = run_program({worker_command().front(), "session", "start", manifest.string(),
                                          "--output-folder=" + outputs.string(),
                                          "--db=" + fs::absolute(database).string(), "--json"});
  const Json answer = try_parse_json(ended.out);
  if (ended.exit_code == 0 && answer.is_object() && answer.contains("session")) return answer["session"];
  constexpr std::string_view kError = "error: ";
  std::string message = last_line(ended.err);
  if (message.starts_with(kError)) message.erase(0, kError.size());
  fail(ended.exit_code > 0 ? static_cast<ExitCode>(ended.exit_code) : ExitCode::environment,
       "the session was not started: {}", sanitize(message));
}

bool stop_session(const fs::path& database, RowId session, double patience_s) {
  const db::SessionLock lock(database);
  if (!lock.is_taken(session)) return true;
  db::SessionStore(database).request_stop(session);
  const auto deadline = steady_clock::now() + time_limit(patience_s);
  while (lock.is_taken(session) && steady_clock::now() < deadline) std::this_thread::sleep_for(kStopPoll);
  return !lock.is_taken(session);
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
