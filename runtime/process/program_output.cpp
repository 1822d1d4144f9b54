// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/program_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/text/file.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = std::size_t{1} << 20;

std::vector<char*> string_pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// pid, or minus the system's error. In a process group of its own, to be killed with all that it starts.
pid_t spawn_group(std::vector<std::string> argv, std::vector<std::string> environment, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes,
                                   string_pointers(argv).data(), string_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -error;
}

/// True at the end of what is written, false when there is too much or the time is over.
bool collect(int fd, steady_clock::time_point deadline, std::string& text) {
  std::array<char, 65536> chunk;
  while (text.size() <= kMaxOutput) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) == 0)
      return false;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return true;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return false;
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment, std::chrono::milliseconds limit) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return InputError{std::strerror(errno)};
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t pid = spawn_group(argv, environment, write_end.get());
  if (pid < 0) return InputError{fmt::format("cannot be started: {}", std::strerror(-pid))};
  write_end.reset();
  std::string text;
  const bool whole = collect(read_end.get(), steady_clock::now() + limit, text);
  if (!whole) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole) return InputError{fmt::format("did not end within {} s", limit.count() / 1000)};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return InputError{WIFEXITED(status) ? fmt::format("ended with exit code {}", WEXITSTATUS(status))
                                        : fmt::format("was ended by signal {}", WTERMSIG(status))};
  return text;
}

}  // namespace ak::runtime
