// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/program_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "core/text/file.h"
#include "core/text/suggest.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = std::size_t{1} << 20;
constexpr std::size_t kLastWords = 600;  // a message of Python with its place
constexpr std::chrono::milliseconds kStopPoll{200};

std::vector<char*> string_pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Memory that is read from its beginning.
FileDescriptor memory_with(std::string_view text) {
  FileDescriptor memory(::memfd_create("input", MFD_CLOEXEC));
  while (memory && !text.empty()) {
    const ssize_t count = ::write(memory.get(), text.data(), text.size());
    if (count <= 0) return {};
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (memory) ::lseek(memory.get(), 0, SEEK_SET);
  return memory;
}

/// What a program reads and writes; -1: nothing.
struct Streams {
  int input = -1, output = -1, errors = -1;
};

/// pid, or minus the system's error. In a process group of its own, to be killed with all that it starts.
pid_t spawn_group(std::vector<std::string> argv, std::vector<std::string> environment,
                  const Streams& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const auto connect = [&](int number, int stream) {
    stream < 0 ? posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
               : posix_spawn_file_actions_adddup2(&actions, stream, number);
  };
  connect(0, streams.input);
  connect(1, streams.output);
  connect(2, streams.errors);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes,
                                   string_pointers(argv).data(), string_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -error;
}

/// Gives `text`'s lines from `from` on that are whole now to who asked for them.
void hand_over_lines(const std::string& text, std::size_t& from, const ProgramWatch& watch) {
  for (std::size_t end; watch.on_line && (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    watch.on_line(std::string_view(text).substr(from, end - from));
}

/// Reads to the end of what is written. What ended it before: nothing where all was read.
std::optional<std::string> collect(int fd, steady_clock::time_point deadline, std::chrono::milliseconds limit,
                                   const ProgramWatch& watch, std::string& text) {
  std::array<char, 65536> chunk;
  std::size_t handed_over = 0;
  while (text.size() <= kMaxOutput) {
    if (watch.stop != nullptr && watch.stop->load()) return "interrupted";
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return fmt::format("did not end within {} s", limit.count() / 1000);
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(std::min(left, kStopPoll).count())) <= 0) continue;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return std::nullopt;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    hand_over_lines(text, handed_over, watch);
  }
  return fmt::format("wrote more than {} bytes", kMaxOutput);
}

std::string end_of(const FileDescriptor& memory) {
  if (!memory) return "";
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(std::max<off_t>(size, 0)), kLastWords),
                   ' ');
  const ssize_t count =
      ::pread(memory.get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return sanitize(text);
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment, std::chrono::milliseconds limit,
                              const ProgramWatch& watch) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return InputError{std::strerror(errno)};
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const FileDescriptor input = watch.input.empty() ? FileDescriptor() : memory_with(watch.input);
  const FileDescriptor errors = watch.last_words ? memory_with("") : FileDescriptor();
  const pid_t pid = spawn_group(argv, environment,
                                {.input = input.get(), .output = write_end.get(), .errors = errors.get()});
  if (pid < 0) return InputError{fmt::format("cannot be started: {}", std::strerror(-pid))};
  write_end.reset();
  std::string text;
  const auto cut_off = collect(read_end.get(), steady_clock::now() + limit, limit, watch, text);
  if (cut_off) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!cut_off) ::kill(-pid, SIGKILL);  // what it left behind
  if (cut_off) return InputError{*cut_off};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  const std::string words = end_of(errors);
  return InputError{fmt::format("{}{}{}",
                                WIFEXITED(status)
                                    ? fmt::format("ended with exit code {}", WEXITSTATUS(status))
                                    : fmt::format("was ended by signal {}", WTERMSIG(status)),
                                words.empty() ? "" : ": ", words)};
}

}  // namespace ak::runtime
