// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/job_program.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"

extern char** environ;

namespace ak::app {
namespace {

constexpr std::chrono::seconds kSoonEnded{60};
// A node that is starting again is tried once a minute at least (chosen).
constexpr std::chrono::seconds kFirstWait{1}, kLongestWait{60};
constexpr int kNotStarted = 127;  // as shells say it

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// In its own process; only calls that are safe after a fork.
[[noreturn]] void become_program(pid_t parent, char* const* argv, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNotStarted);
  ::close_range(3, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(argv[0], argv, environment);
  ::_exit(kNotStarted);
}

}  // namespace

void JobProgram::start(TimePoint now) {
  const std::vector<char*> words = pointers_to(argv_), variables = pointers_to(environment_);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) fail(ExitCode::environment, "cannot start {}: {}", argv_.front(), std::strerror(errno));
  if (child == 0) become_program(parent, words.data(), environment_.empty() ? environ : variables.data());
  pid_ = child;
  began_ = now;
}

void JobProgram::note_end(TimePoint now) {
  pid_ = 0;
  soon_ended_ = now - began_ < kSoonEnded ? soon_ended_ + 1 : 0;
  next_ = now +
          std::min<std::chrono::seconds>(kFirstWait * (1 << std::clamp(soon_ended_ - 1, 0, 6)), kLongestWait);
}

void JobProgram::send(int signal) const {
  if (pid_ != 0) ::kill(pid_, signal);
}

}  // namespace ak::app
