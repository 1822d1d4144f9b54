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
constexpr std::chrono::milliseconds kEndPoll{5};  // most programs end as they close their output

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

/// The end of what a program writes to standard error; what comes before it is read and dropped.
class LastWords {
 public:
  /// The end for the program; none where nobody listens.
  [[nodiscard]] FileDescriptor open(bool wanted) {
    std::array<int, 2> ends{-1, -1};
    if (!wanted || ::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
    read_end_ = FileDescriptor(ends[0]);
    ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
    return FileDescriptor(ends[1]);
  }
  /// For poll(), which passes -1 over.
  [[nodiscard]] int fd() const { return read_end_.get(); }
  /// Reads what there is.
  void take() {
    std::array<char, 65536> chunk;
    ssize_t count = 0;
    while (read_end_ && (count = ::read(read_end_.get(), chunk.data(), chunk.size())) > 0) {
      text_.append(chunk.data(), static_cast<std::size_t>(count));
      if (text_.size() > kLastWords) text_.erase(0, text_.size() - kLastWords);
      if (static_cast<std::size_t>(count) < chunk.size())
        return;  // who writes without an end is not waited for
    }
    if (count == 0) read_end_.reset();
  }
  [[nodiscard]] std::string text() const { return sanitize(text_); }

 private:
  FileDescriptor read_end_;
  std::string text_;
};

/// When a program is ended, and what ended it.
struct Patience {
  steady_clock::time_point deadline;
  std::chrono::milliseconds limit;
  const std::atomic<bool>* stop;

  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  }
  /// Nothing while it may run.
  [[nodiscard]] std::optional<std::string> is_over() const {
    if (stop != nullptr && stop->load()) return "interrupted";
    if (left().count() <= 0) return fmt::format("did not end within {} s", limit.count() / 1000);
    return std::nullopt;
  }
};

/// Gives `text`'s lines from `from` on that are whole now to who asked for them.
void hand_over_lines(const std::string& text, std::size_t& from, const ProgramWatch& watch) {
  for (std::size_t end; watch.on_line && (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    watch.on_line(std::string_view(text).substr(from, end - from));
}

/// Reads to the end of what is written. What ended it before: nothing where all was read.
std::optional<std::string> collect(int fd, const Patience& patience, const ProgramWatch& watch,
                                   LastWords& errors, std::string& text) {
  std::array<char, 65536> chunk;
  std::size_t handed_over = 0;
  while (text.size() <= kMaxOutput) {
    if (auto over = patience.is_over()) return over;
    std::array<pollfd, 2> readable{
        {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = errors.fd(), .events = POLLIN, .revents = 0}}};
    const int wait =
        static_cast<int>(std::clamp(patience.left(), std::chrono::milliseconds(0), kStopPoll).count());
    if (::poll(readable.data(), readable.size(), wait) <= 0) continue;
    if (readable[1].revents != 0) errors.take();
    if (readable[0].revents == 0) continue;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return std::nullopt;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    hand_over_lines(text, handed_over, watch);
  }
  return fmt::format("wrote more than {} bytes", kMaxOutput);
}

/// Waits until a program that closed its output has ended, and reads on what it says. What ended it before: nothing
/// where it ended by itself.
std::optional<std::string> await_end(pid_t pid, const Patience& patience, LastWords& errors, int& status) {
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return std::nullopt;
    if (auto over = patience.is_over()) return over;
    pollfd readable{.fd = errors.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(kEndPoll.count())) > 0) errors.take();
  }
}

/// Ends the group, and takes the status of its first process.
void end_group(pid_t pid, int& status) {
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
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
  LastWords errors;
  FileDescriptor error_end = errors.open(watch.last_words);
  const pid_t pid = spawn_group(argv, environment,
                                {.input = input.get(), .output = write_end.get(), .errors = error_end.get()});
  if (pid < 0) return InputError{fmt::format("cannot be started: {}", std::strerror(-pid))};
  write_end.reset();
  error_end.reset();
  std::string text;
  const Patience patience{.deadline = steady_clock::now() + limit, .limit = limit, .stop = watch.stop};
  int status = 0;
  auto cut_off = collect(read_end.get(), patience, watch, errors, text);
  if (!cut_off) cut_off = await_end(pid, patience, errors, status);
  if (cut_off) return end_group(pid, status), InputError{*cut_off};
  ::kill(-pid, SIGKILL);  // what it left behind
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  errors.take();
  const std::string words = errors.text();
  return InputError{fmt::format("{}{}{}",
                                WIFEXITED(status)
                                    ? fmt::format("ended with exit code {}", WEXITSTATUS(status))
                                    : fmt::format("was ended by signal {}", WTERMSIG(status)),
                                words.empty() ? "" : ": ", words)};
}

}  // namespace ak::runtime
