// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "runtime/process/child_process.h"
#include "runtime/process/sandbox.h"

namespace ak::runtime {
namespace {

constexpr int kLookMs = 20;              // how late an end is seen
constexpr rlim_t kFileBytes = 1u << 30;  // of one file: far above any source or log; chosen
constexpr int kKilled = 128 + SIGKILL;
constexpr const char* kScratch = "--scratch";

/// The parent of a process; 0 where it has ended.
pid_t parent_of(pid_t pid) {
  std::string stat;
  try {
    stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  } catch (const Error&) {
    return 0;
  }
  int parent = 0;
  char state = 0;
  const std::size_t name_end = stat.rfind(')');  // a name may have any character in it
  if (name_end == std::string::npos) return 0;
  return std::sscanf(stat.c_str() + name_end + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return children;
  while (const dirent* entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == ::getpid()) children.push_back(pid);
  }
  ::closedir(folder);
  return children;
}

/// What a killed process leaves becomes this process's, so after some rounds nothing is left.
void end_everything(pid_t program) {
  ::kill(-program, SIGKILL);
  for (;;) {
    for (const pid_t child : own_children()) ::kill(child, SIGKILL);
    int status = 0;
    const pid_t reaped = ::waitpid(-1, &status, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return;
    if (reaped == 0) ::poll(nullptr, 0, 1);
  }
}

[[noreturn]] void become_supervised(pid_t parent, char* const* argv) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotStarted);
  ::signal(SIGPIPE, SIG_DFL);
  ::execvp(argv[0], argv);
  std::fprintf(stderr, "%s: %s\n", argv[0], std::strerror(errno));
  ::_exit(kExitNotStarted);
}

/// Of the program, once it has ended; what else ended meanwhile is reaped.
std::optional<int> exit_code_of(pid_t program) {
  std::optional<int> code;
  int status = 0;
  for (pid_t reaped = 0; (reaped = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (reaped == program) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code;
}

/// The soft limit: what runs away stops there, and a server that writes a database lifts it.
void limit_files() {
  rlimit files = {};
  if (::getrlimit(RLIMIT_FSIZE, &files) != 0) return;
  files.rlim_cur = std::min(files.rlim_max, kFileBytes);
  ::setrlimit(RLIMIT_FSIZE, &files);
}

/// Who holds the other end of the lifeline has ended: who is there writes a byte before it ends the program.
bool is_orphaned(int lifeline) {
  pollfd end{.fd = lifeline, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&end, 1, 0) > 0 && ::read(lifeline, &byte, 1) <= 0;
}

/// "[--scratch FOLDER] -- PROGRAM ARGUMENTS"
struct Order {
  std::string scratch;
  std::vector<std::string> program;
};
std::optional<Order> order_in(std::span<const std::string> words) {
  Order order;
  if (words.size() > 2 && words[0] == kScratch) {
    order.scratch = words[1];
    words = words.subspan(2);
  }
  if (words.size() < 2 || words[0] != "--") return std::nullopt;
  order.program.assign(words.begin() + 1, words.end());
  return order;
}

/// Until it has ended or is to end; its exit code.
int see_to_its_end(pid_t program, int lifeline) {
  for (;;) {
    pollfd end{.fd = lifeline, .events = POLLIN, .revents = 0};
    const bool cut = ::poll(&end, 1, kLookMs) > 0;
    const auto code = exit_code_of(program);
    if (!code && !cut) continue;
    end_everything(program);
    return code.value_or(kKilled);
  }
}

}  // namespace

bool is_supervisors_order(std::span<const std::string> words) { return order_in(words).has_value(); }

void lift_file_limit() {
  rlimit files = {};
  if (::getrlimit(RLIMIT_FSIZE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &files);
}

int supervise_program(std::span<const std::string> words) {
  std::optional<Order> order = order_in(words);
  AK_ASSERT(order, "a program is supervised");
  const std::string name = order->program.front();
  // Before any of its own: what a shell left open is not the program's.
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U);
  forbid_core_dumps();
  limit_files();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    fail(ExitCode::environment, "the system does not hand over orphans: {}", std::strerror(errno));
  const FileDescriptor lifeline(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!lifeline || !nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0)
    fail(ExitCode::environment, "starting {}: {}", name, std::strerror(errno));
  std::vector<char*> pointers;
  for (std::string& word : order->program) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t self = ::getpid(), program = ::fork();
  if (program < 0) fail(ExitCode::environment, "starting {}: {}", name, std::strerror(errno));
  if (program == 0) become_supervised(self, pointers.data());
  ::setpgid(program, program);  // whichever of the two calls comes first
  const int code = see_to_its_end(program, lifeline.get());
  std::error_code refused;
  if (!order->scratch.empty() && is_orphaned(lifeline.get()))
    std::filesystem::remove_all(order->scratch, refused);
  return code;
}

}  // namespace ak::runtime
