// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/process/worker_test_support.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

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

bool ends(pid_t pid) {
  return in_the_end([&] {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string number, name, state;
    return !(file >> number >> name >> state) || state == "Z" || state == "X";
  });
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
