// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "core/text/locations.h"

extern char** environ;

namespace ak::runtime {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(int socket, pid_t parent, char* const* argv, char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotStarted);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execvpe(argv[0], argv, environment);
  ::_exit(kExitNotStarted);
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view one) {
    return one.ends_with('*') ? name.starts_with(one.substr(0, one.size() - 1)) : name == one;
  });
}

// docs/sandbox.md lists them.
constexpr std::string_view kForWorkers[] = {"PATH",
                                            "TMPDIR",
                                            "LANG",
                                            "LC_*",
                                            "TZ",
                                            "LD_LIBRARY_PATH",
                                            "ALPHAKERNEL_LOCKS",
                                            "CUDA_HOME",
                                            "CUDA_PATH",
                                            "CUDA_VISIBLE_DEVICES",
                                            "CUDA_DEVICE_ORDER",
                                            "CUDA_MODULE_LOADING",
                                            "CUDA_MPS_PIPE_DIRECTORY",
                                            "CUDA_MPS_LOG_DIRECTORY",
                                            "NVIDIA_VISIBLE_DEVICES",
                                            "NVIDIA_DRIVER_CAPABILITIES",
                                            "ASAN_OPTIONS",
                                            "LSAN_OPTIONS",
                                            "TSAN_OPTIONS",
                                            "UBSAN_OPTIONS"};
constexpr std::size_t kErrorBytes = 64u << 10;  // more than any program says before it gives up (chosen)
// What srun and ssh know their user and job by.
constexpr std::string_view kForLaunchers[] = {"HOME",          "USER",       "LOGNAME", "SHELL",
                                              "SSH_AUTH_SOCK", "KRB5CCNAME", "SLURM_*"};
// Slurm's own token is SLURM_JWT.
constexpr std::string_view kSecretWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "JWT"};

bool may_hold_secret(std::string_view name) {
  return std::ranges::any_of(
      kSecretWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Ourselves as a worker, or another program that starts one.
bool is_launcher(const std::string& program) {
  std::error_code error;
  return !std::filesystem::equivalent(program, program_file(), error);
}

}  // namespace

std::vector<std::string> child_environment(bool launcher, std::span<const std::string_view> more) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable), name = text.substr(0, text.find('='));
    const bool allowed =
        is_one_of(kForWorkers, name) || (launcher && is_one_of(kForLaunchers, name)) || is_one_of(more, name);
    if (allowed && !may_hold_secret(name)) result.emplace_back(text);
  }
  // The driver's cache of compiled PTX is a folder in the user's home that one candidate could
  // fill for another.
  result.emplace_back("CUDA_CACHE_DISABLE=1");
  return result;
}

ChildErrors::ChildErrors() : memory_(::memfd_create("errors", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const bool made = memory_ && ::ftruncate(memory_.get(), kErrorBytes) == 0 &&
                    ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0;
  if (!made)
    fail(ExitCode::environment, "making memory for the errors of a worker: {}", std::strerror(errno));
}

std::string ChildErrors::text() const {
  std::string bytes(kErrorBytes, '\0');
  const ssize_t count = ::pread(memory_.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes.substr(0, bytes.find('\0'));
}

// Children have the descriptor's place in the memory in common with it.
std::string ChildErrors::take() const {
  const off_t written = ::lseek(memory_.get(), 0, SEEK_CUR);
  if (written <= 0) return {};  // as nearly always
  std::string bytes(static_cast<std::size_t>(std::min<off_t>(written, kErrorBytes)), '\0');
  const ssize_t count = ::pread(memory_.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  ::lseek(memory_.get(), 0, SEEK_SET);
  return bytes;
}

StartedChild start_child(std::vector<std::string> argv, const ChildErrors* errors) {
  std::array<int, 2> ends{};
  // A socket rather than pipes: MSG_NOSIGNAL spares the whole process a SIGPIPE disposition.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(ExitCode::environment, "opening a socket pair for {}: {}", argv[0], std::strerror(errno));
  FileDescriptor ours(ends[0]);
  const FileDescriptor childs(ends[1]);
  auto environment = child_environment(is_launcher(argv[0]));
  const auto words = pointers(argv), variables = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail(ExitCode::environment, "starting {}: {}", argv[0], std::strerror(errno));
  if (child == 0) {
    if (errors != nullptr) ::dup2(errors->descriptor(), STDERR_FILENO);
    become(childs.get(), parent, words.data(), variables.data());
  }
  ::setpgid(child, child);  // whichever of the two calls comes first
  return {.pid = child, .socket = std::move(ours)};
}

bool child_has_ended(pid_t pid, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return errno == ECHILD;
    if (info.si_pid == pid) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace ak::runtime
