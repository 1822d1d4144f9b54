// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/process/worker_test_support.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace ak::runtime {

std::vector<std::string> worker_command() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "worker"};
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) found.push_back(pid);
  }
  return found;
}

bool ends_within(pid_t pid, std::chrono::milliseconds limit) {
  for (const auto deadline = in(limit); std::chrono::steady_clock::now() < deadline;) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string number, name, state;
    if (!(file >> number >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TranslationUnit unit_of(std::string source, std::vector<std::string> kernels) {
  TranslationUnit unit;
  unit.file_name = "k.cu";
  unit.source = std::move(source);
  unit.options = {"--std=c++20", "--device-as-default-execution-space", "--ptxas-options=-v"};
  unit.kernels = std::move(kernels);
  unit.arch = {9, 0, 'a'};
  return unit;
}

}  // namespace ak::runtime
