// SPDX-License-Identifier: Apache-2.0
#include "db/read/query_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "core/text/file.h"
#include "core/text/locations.h"
#include "db/read/query_message.h"
#include "db/read/reader.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Beyond a query's own time: to start its process on a busy machine, and to take the answer. The child ends
// itself long before.
constexpr milliseconds kSpareTime{60'000};

[[noreturn]] void fail_start(int error) {
  fail(ExitCode::environment, "cannot start a process for the query: {}", std::strerror(error));
}

/// A file without a name that holds `text`, to be read from its beginning: unlike a pipe it takes all at once.
FileDescriptor file_with(std::string_view text) {
  FileDescriptor file(::memfd_create("query", MFD_CLOEXEC));
  if (!file) fail_start(errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) fail_start(errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) fail_start(errno);
  return file;
}

/// How a child is started: with these as its standard input and output, and no signal blocked or ignored.
class SpawnRules {
 public:
  SpawnRules(int input, int output) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnRules() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnRules(const SpawnRules&) = delete;
  SpawnRules& operator=(const SpawnRules&) = delete;

  [[nodiscard]] pid_t start(std::string program, std::string verb) const {
    char* const argv[] = {program.data(), verb.data(), nullptr};
    pid_t child = 0;
    const int error = posix_spawn(&child, program.c_str(), &files_, &attributes_, argv, environ);
    if (error != 0) fail_start(error);
    return child;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// The child, killed and reaped with this object.
class QueryChild {
 public:
  explicit QueryChild(std::string_view request) {
    const FileDescriptor input = file_with(request);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_start(errno);
    output_ = FileDescriptor(ends[0]);
    const FileDescriptor child_end(ends[1]);
    pid_ = SpawnRules(input.get(), child_end.get()).start(program_file().string(), "run-query");
  }
  ~QueryChild() {
    if (pid_ > 0) static_cast<void>(end(steady_clock::now()));
  }
  QueryChild(const QueryChild&) = delete;
  QueryChild& operator=(const QueryChild&) = delete;

  /// Waits for what comes next; empty at the end, and when the time is over.
  std::string_view read(steady_clock::time_point until) {
    pollfd waiting{.fd = output_.get(), .events = POLLIN, .revents = 0};
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      if (left.count() <= 0) return {};
      constexpr milliseconds kLongest{86'400'000};  // a day at a time: poll() counts in int
      if (::poll(&waiting, 1, static_cast<int>(std::min(left, kLongest).count())) > 0) break;
    }
    const ssize_t count = ::read(output_.get(), chunk_.data(), chunk_.size());
    return {chunk_.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  /// Waits for its end, and ends it then; its status as waitpid() gives it. Its output may end before it does.
  int end(steady_clock::time_point until) {
    const FileDescriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    pollfd waiting{.fd = ended.get(), .events = POLLIN, .revents = 0};
    const auto left =
        std::clamp(std::chrono::ceil<milliseconds>(until - steady_clock::now()), milliseconds(0), kSpareTime);
    if (ended.get() >= 0) ::poll(&waiting, 1, static_cast<int>(left.count()));
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  FileDescriptor output_;
  std::array<char, 64 << 10> chunk_;
};

/// Throws what the end of a child without an answer means.
[[noreturn]] void fail_ended(int status, milliseconds time_limit) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGALRM || signal == SIGXCPU) fail_out_of_time(time_limit);
  if (signal != 0)
    fail(ExitCode::environment,
         "the process that ran the query was killed by signal {} ({}); nothing was changed", signal,
         ::strsignal(signal));
  fail(ExitCode::environment, "the process that ran the query ended with code {} without an answer",
       WEXITSTATUS(status));
}

}  // namespace

Table query_apart(const std::filesystem::path& file, std::string_view sql, const QueryBounds& bounds,
                  const QueryValues& values) {
  const milliseconds time = std::max(bounds.time, milliseconds(0));
  // The copy of an older file is made here: it outlives this query, and no limit of the child's applies to it.
  QueryChild child(encode({.file = std::filesystem::absolute(readable_file(file)).string(),
                           .sql = std::string(sql),
                           .row_limit = bounds.rows,
                           .answer_limit_bytes = bounds.answer_bytes,
                           .time_limit = time,
                           .values = values}));
  AnswerReader answer(bounds.answer_bytes);
  const auto until = steady_clock::now() + time + kSpareTime;
  for (;;) {
    const std::string_view bytes = child.read(until);
    if (bytes.empty()) break;
    answer.feed(bytes);
  }
  const bool late = steady_clock::now() >= until;
  const int status = child.end(until);
  if (auto table = answer.take()) return *std::move(table);
  if (late) fail_out_of_time(time);
  fail_ended(status, time);
}

}  // namespace ak::db
