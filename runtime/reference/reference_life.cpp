// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/reference_life.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/text/locations.h"
#include "runtime/process/child_process.h"

namespace ak::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Descriptors that a child gets; those here must be none of them.
constexpr int kFirstOwn = 16;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environment_of_reference() {
  std::vector<std::string> environment = child_environment(false);
  // Strings in another order from process to process would be a difference between two runs.
  environment.emplace_back("PYTHONHASHSEED=0");
  // PyTorch 2 asks for the user's name and a folder for compiled code when its dispatcher is first looked into. The list
  // of users cannot be read there, and no folder can be written; nothing is compiled, so one that exists will do.
  for (const char* setting : {"LOGNAME=reference", "HOME=/", "TORCHINDUCTOR_CACHE_DIR=/"})
    environment.emplace_back(setting);
  return environment;
}

class Child final : public ReferenceLife {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() override { kill(); }

  [[nodiscard]] pid_t pid() const override { return pid_; }

  [[nodiscard]] std::optional<int> end(milliseconds patience) override {
    const auto until = steady_clock::now() + patience;
    int status = 0;
    while (pid_ != 0) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = 0;
        return status;
      }
      if (steady_clock::now() >= until) break;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return std::nullopt;
  }

  /// A confined process may not signal another: then the end of the socket, and at last that of this thread, is the
  /// child's.
  void kill() override {
    if (pid_ != 0 && ::kill(pid_, SIGKILL) == 0) static_cast<void>(::waitpid(pid_, nullptr, 0));
    pid_ = 0;
  }
  void let_go() override {
    static_cast<void>(end(kEndPatience));
    kill();
  }

 private:
  pid_t pid_;  ///< 0 once it is reaped
};

}  // namespace

void fail_to_start_reference(const char* doing) {
  fail(ExitCode::environment, "starting a reference process: {}: {}", doing, std::strerror(errno));
}

ssize_t write_quietly(int fd, const std::string& bytes) {
  sigset_t pipe_signal, before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  constexpr timespec kAtOnce{};
  if (written < 0 && error == EPIPE && ::sigismember(&before, SIGPIPE) == 0)
    ::sigtimedwait(&pipe_signal, nullptr, &kAtOnce);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

FileDescriptor above_places(int descriptor) {
  FileDescriptor above(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstOwn));
  if (!above) fail_to_start_reference("descriptors");
  return above;
}

std::unique_ptr<ReferenceLife> spawn_reference(const std::vector<int>& descriptors) {
  std::vector<std::string> argv{program_file().string(), "worker", "--role", "reference"};
  std::vector<std::string> environment = environment_of_reference();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    posix_spawn_file_actions_adddup2(&actions, descriptors[i], static_cast<int>(i));
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, argv.front().c_str(), &actions, nullptr, pointers(argv).data(),
                        pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) fail_to_start_reference(argv.front().c_str());
  return std::make_unique<Child>(pid);
}

}  // namespace ak::runtime
