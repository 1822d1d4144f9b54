// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/child_program.h"

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
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxErrorBytes = 4096;  // kept of the end of standard error; chosen
constexpr int kPollMs = 100;                  // how late a cancelled call ends
// To kill what it started takes milliseconds; chosen.
constexpr auto kEndPatience = std::chrono::seconds(5);

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// A running child in its own process group; killed, with what it started, and reaped at the end.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(-pid_, SIGKILL);
    if (!status_) static_cast<void>(reap(0));
  }
  /// True when it has ended by itself.
  [[nodiscard]] bool ended() { return status_ || reap(WNOHANG); }
  [[nodiscard]] int status() const { return *status_; }

 private:
  bool reap(int options) {
    int status = 0;
    pid_t got = 0;
    while ((got = waitpid(pid_, &status, options)) < 0 && errno == EINTR) {
    }
    if (got == pid_) status_ = status;
    return got == pid_;
  }
  pid_t pid_;
  std::optional<int> status_;
};

struct Pipe {
  FileDescriptor read, write;
};
Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// pid, or minus the system's error.
pid_t spawn(const ProgramCall& call, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, call.input, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  if (!call.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, call.folder.c_str());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> arguments = call.argv, variables = call.environment;
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments.front().c_str(), &actions, &attributes,
                                 pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -error;
}

/// Appends what can be read; false when the other end is closed.
bool read_some(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Why it is ended before its time.
std::optional<LlmFailure> reason_to_end(const ProgramCall& call, const ProgramOutput& output,
                                        steady_clock::time_point deadline,
                                        const std::atomic<bool>* cancelled) {
  if (cancelled != nullptr && cancelled->load())
    return LlmFailure{LlmFault::cancelled, "the run was stopped"};
  if (steady_clock::now() > deadline)
    return LlmFailure{LlmFault::timeout, fmt::format("no answer within {} ms", call.timeout.count())};
  if (output.text.size() > kMaxProgramBytes)
    return LlmFailure{LlmFault::cut_short, "what it printed is larger than 16 MiB"};
  return call.watch ? call.watch() : std::nullopt;
}

/// Whole lines of the end, where there are such: no cut is to go through a key.
void keep_end(std::string& text) {
  if (text.size() <= 2 * kMaxErrorBytes) return;
  text.erase(0, text.size() - kMaxErrorBytes);
  const std::size_t line = text.find('\n');
  if (line != std::string::npos) text.erase(0, line + 1);
}

/// Until the child closes both, or there is a reason to end it.
void collect(const ProgramCall& call, int out, int err, steady_clock::time_point deadline,
             const std::atomic<bool>* cancelled, ProgramOutput& output) {
  std::array<pollfd, 2> ends{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    output.failure = reason_to_end(call, output, deadline, cancelled);
    if (output.failure) return;
    if (poll(ends.data(), ends.size(), kPollMs) <= 0) continue;
    if (ends[0].revents != 0 && !read_some(out, output.text)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !read_some(err, output.error_text)) ends[1].fd = -1;
    keep_end(output.error_text);
  }
}

void await_exit(Child& child, steady_clock::time_point deadline) {
  while (!child.ended() && steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

ProgramOutput run_to_answer(const ProgramCall& call, const std::atomic<bool>* cancelled) {
  ProgramOutput output;
  Pipe out = make_pipe(), err = make_pipe();
  if (call.input < 0 || !out.read || !err.read) {
    output.failure = LlmFailure{LlmFault::unreachable, std::strerror(errno)};
    return output;
  }
  const pid_t pid = spawn(call, out.write.get(), err.write.get());
  if (pid < 0) {
    output.failure =
        LlmFailure{LlmFault::no_model, fmt::format("{}: {}", call.argv.front(), std::strerror(-pid))};
    return output;
  }
  Child child(pid);
  out.write.reset();
  err.write.reset();
  const auto deadline = steady_clock::now() + call.timeout;
  collect(call, out.read.get(), err.read.get(), deadline, cancelled, output);
  if (!output.failure) await_exit(child, deadline);
  if (!child.ended() && call.ask_to_end) {
    call.ask_to_end();
    await_exit(child, steady_clock::now() + kEndPatience);
  } else if (child.ended() && WIFEXITED(child.status())) {
    output.exit_code = WEXITSTATUS(child.status());
  }
  return output;
}

FileDescriptor nameless_file(const std::string& text) {
  FileDescriptor file(memfd_create("prompt", MFD_CLOEXEC));
  for (std::size_t at = 0; file && at < text.size();) {
    const ssize_t written = pwrite(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (written <= 0) return {};
    at += static_cast<std::size_t>(written);
  }
  return file;
}

std::vector<std::string> set_variables(std::span<const std::string> names) {
  std::vector<std::string> entries;
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str())) entries.push_back(name + "=" + value);
  }
  return entries;
}

std::vector<std::string> secret_values(std::span<const std::string> names) {
  constexpr std::array<std::string_view, 4> kSecretNames{"KEY", "TOKEN", "SECRET", "PASS"};
  std::vector<std::string> secrets;
  for (const std::string& name : names) {
    const char* value = std::getenv(name.c_str());
    const bool secret = std::ranges::any_of(
        kSecretNames, [&](std::string_view word) { return name.find(word) != std::string::npos; });
    if (value != nullptr && secret) secrets.emplace_back(value);
  }
  return secrets;
}

}  // namespace ak::agent
