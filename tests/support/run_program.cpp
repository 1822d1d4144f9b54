// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/patience.h"

namespace ak::testing {
namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void become(const std::vector<std::string>& argv,
                         const std::map<std::string, std::string>& environment,
                         const std::filesystem::path& folder) {
  for (const auto& [name, value] : environment) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  if (!std::freopen((folder / "out").c_str(), "w", stdout) ||
      !std::freopen((folder / "err").c_str(), "w", stderr))
    _exit(126);
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  _exit(127);
}

}  // namespace

pid_t start_program(const std::vector<std::string>& argv,
                    const std::map<std::string, std::string>& environment,
                    const std::filesystem::path& folder) {
  std::fflush(nullptr);  // the child would write what is buffered again
  const pid_t child = fork();
  if (child == 0) become(argv, environment, folder);
  return child;
}

ProgramResult run_program(const std::vector<std::string>& argv,
                          const std::map<std::string, std::string>& environment, const Signal& signal) {
  const TemporaryFolder folder;
  const pid_t child = start_program(argv, environment, folder.path());
  if (signal.number != 0) {
    const auto& file = signal.after_file;
    static_cast<void>(
        in_the_end([&] { return file.empty() || std::filesystem::exists(file) || has_ended(child); }));
    kill(child, signal.number);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, slurp(folder / "out"), slurp(folder / "err")};
}

bool has_ended(pid_t child) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

}  // namespace ak::testing
