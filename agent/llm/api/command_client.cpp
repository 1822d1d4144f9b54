// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/command_client.h"

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
#include <thread>

#include "agent/llm/api/http_client.h"
#include "agent/llm/api/redact.h"
#include "core/error.h"
#include "core/text/file.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxAnswerBytes = 16u << 20;
constexpr std::size_t kMaxErrorBytes = 4096;
constexpr int kPollMs = 100;  // how late a cancelled call ends

std::string prompt_text(const LlmRequest& request) {
  std::string text = request.system;
  for (const LlmMessage& message : request.messages)
    text += fmt::format("\n\n[{}]\n{}", message.role, message.text);
  return text;
}

/// A file without a name that holds `text`: a child that does not read it cannot block or signal us.
FileDescriptor text_file(const std::string& text) {
  FileDescriptor file(memfd_create("prompt", MFD_CLOEXEC));
  for (std::size_t at = 0; file && at < text.size();) {
    const ssize_t written = pwrite(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (written <= 0) return {};
    at += static_cast<std::size_t>(written);
  }
  return file;
}

std::vector<std::string> environment_of(const LlmCommand& command) {
  std::vector<std::string> entries;
  for (const std::string& name : command.environment) {
    if (const char* value = std::getenv(name.c_str())) entries.push_back(name + "=" + value);
  }
  return entries;
}

/// Values of variables that are keys by their names: PATH and HOME may be shown.
std::vector<std::string> secrets_of(const LlmCommand& command) {
  constexpr std::array<std::string_view, 4> kSecretNames{"KEY", "TOKEN", "SECRET", "PASS"};
  std::vector<std::string> secrets;
  for (const std::string& name : command.environment) {
    const char* value = std::getenv(name.c_str());
    const bool secret = std::ranges::any_of(
        kSecretNames, [&](std::string_view word) { return name.find(word) != std::string::npos; });
    if (value != nullptr && secret) secrets.emplace_back(value);
  }
  return secrets;
}

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
pid_t spawn(const LlmCommand& command, int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> arguments = command.argv, variables = environment_of(command);
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

struct Output {
  std::string text, input_error;
  std::optional<LlmFailure> failure = {};
};

/// Until the child closes both, the time is up or the call is cancelled.
Output collect(int out, int err, std::chrono::milliseconds timeout, const std::atomic<bool>* cancelled) {
  const auto deadline = steady_clock::now() + timeout;
  Output output;
  std::array<pollfd, 2> ends{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (cancelled != nullptr && cancelled->load()) {
      output.failure = {LlmFault::cancelled, "the run was stopped"};
    } else if (steady_clock::now() > deadline) {
      output.failure = {LlmFault::timeout, fmt::format("no answer within {} ms", timeout.count())};
    } else if (output.text.size() > kMaxAnswerBytes) {
      output.failure = {LlmFault::cut_short, "the answer is larger than 16 MiB"};
    }
    if (output.failure) break;
    if (poll(ends.data(), ends.size(), kPollMs) <= 0) continue;
    if (ends[0].revents != 0 && !read_some(out, output.text)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !read_some(err, output.input_error)) ends[1].fd = -1;
    if (output.input_error.size() > kMaxErrorBytes) output.input_error.resize(kMaxErrorBytes);
  }
  return output;
}

Output run(const LlmCommand& command, const std::string& prompt, const std::atomic<bool>* cancelled) {
  const FileDescriptor in = text_file(prompt);
  Pipe out = make_pipe(), err = make_pipe();
  if (!in || !out.read || !err.read) return {"", "", LlmFailure{LlmFault::unreachable, std::strerror(errno)}};
  const pid_t pid = spawn(command, in.get(), out.write.get(), err.write.get());
  if (pid < 0)
    return {"", "",
            LlmFailure{LlmFault::no_model, fmt::format("{}: {}", command.argv.front(), std::strerror(-pid))}};
  Child child(pid);
  out.write.reset();
  err.write.reset();
  const auto deadline = steady_clock::now() + command.timeout;
  Output output = collect(out.read.get(), err.read.get(), command.timeout, cancelled);
  while (!output.failure && !child.ended() && steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (output.failure) return output;
  if (!child.ended() || child.status() != 0)
    output.failure = {LlmFault::malformed, fmt::format("the command failed: {}", output.input_error)};
  return output;
}

}  // namespace

LlmReply CommandLlmClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  AK_ASSERT(!command_.argv.empty(), "a command has a program");
  Output output = run(command_, prompt_text(request), cancelled);
  const Redactor redactor(secrets_of(command_));
  LlmReply reply{.text = redactor(output.text), .stop = LlmStop::end};
  reply.raw = reply.text;
  if (output.failure) {
    reply.failure = {output.failure->fault, ForeignText(output.failure->message).line(redactor)};
  } else if (output.text.empty()) {
    reply.failure = {LlmFault::malformed, "the command printed nothing"};
  }
  estimate_usage(request, !reply.text.empty(), reply);
  return reply;
}

}  // namespace ak::agent
