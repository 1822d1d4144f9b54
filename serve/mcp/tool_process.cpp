// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tool_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace ak::mcp {
namespace {

// Far above any answer; a tool that writes more is broken and is stopped.
constexpr std::size_t kMaxOutputBytes = 16u << 20;
constexpr std::size_t kMaxNoteBytes = 4u << 10;

[[noreturn]] void fail_start() {
  fail(ExitCode::environment, "cannot start a process for the tool: {}", std::strerror(errno));
}

/// A file without a name that holds `text`, to be read from its beginning: unlike a pipe it takes
/// all at once.
FileDescriptor memory_file(std::string_view text) {
  FileDescriptor file(::memfd_create("arguments", MFD_CLOEXEC));
  if (!file) fail_start();
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) fail_start();
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) fail_start();
  return file;
}

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_start();
  std::pair<FileDescriptor, FileDescriptor> pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) fail_start();
  return pipe;
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, pid_t parent, int in, int out, int err) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(argv[0], argv);
  ::_exit(127);
}

/// Appends what can be read now, until there is too much. False at the end of the stream.
bool read_available(int descriptor, std::string& text) {
  char chunk[64 << 10];
  while (text.size() <= kMaxOutputBytes) {
    const ssize_t count = ::read(descriptor, chunk, sizeof chunk);
    if (count > 0) text.append(chunk, static_cast<std::size_t>(count));
    if (count == 0) return false;
    if (count < 0 && errno != EINTR) return errno == EAGAIN;
  }
  return true;
}

}  // namespace

ToolProcess::ToolProcess(const std::vector<std::string>& argv, std::string_view input) {
  const FileDescriptor in = memory_file(input);
  auto [out, out_end] = make_pipe();
  auto [err, err_end] = make_pipe();
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail_start();
  if (pid_ == 0) become(words.data(), parent, in.get(), out_end.get(), err_end.get());
  out_ = std::move(out);
  err_ = std::move(err);
}

ToolProcess::ToolProcess(ToolProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      output_(std::move(other.output_)),
      notes_(std::move(other.notes_)) {}

ToolProcess::~ToolProcess() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  static_cast<void>(end());
}

std::array<int, 2> ToolProcess::descriptors() const {
  return {out_ ? out_.get() : -1, err_ ? err_.get() : -1};
}

bool ToolProcess::drain() {
  if (err_ && !read_available(err_.get(), notes_)) err_.reset();
  if (notes_.size() > kMaxNoteBytes) notes_.erase(0, notes_.size() - kMaxNoteBytes);
  if (out_ && !read_available(out_.get(), output_)) out_.reset();
  if (output_.size() > kMaxOutputBytes) {
    ::kill(pid_, SIGKILL);
    out_.reset();
  }
  return !out_;
}

std::string ToolProcess::end() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFEXITED(status)) return fmt::format("ended with code {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

}  // namespace ak::mcp
