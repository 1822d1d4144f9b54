// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/processes.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/patience.h"

namespace ak::testing {

Subreaper::Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
Subreaper::~Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 0); }

bool Subreaper::all_end() {
  const auto deadline = out_of_patience();
  bool by_themselves = true;
  for (;;) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return by_themselves;
    if (reaped != 0) continue;
    if (by_themselves && std::chrono::steady_clock::now() > deadline) {
      by_themselves = false;
      for (const pid_t left : children_of(getpid())) kill(left, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent), gone)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) found.push_back(pid);
  }
  return found;
}

int kills(int sample) {
  const char* wanted = std::getenv("AK_SOAK_ITERATIONS");
  return wanted ? std::max(1, std::atoi(wanted)) : sample;
}

}  // namespace ak::testing
