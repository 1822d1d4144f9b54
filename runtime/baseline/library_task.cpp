// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/library_task.h"

namespace ak::runtime {

std::optional<std::size_t> find_tensor(const OpenProblem& problem, std::string_view name) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].name == name) return i;
  }
  return std::nullopt;
}

std::string param_or(const OpenProblem& problem, const std::string& name, const std::string& otherwise) {
  const auto found = problem.params.find(name);
  return found == problem.params.end() ? otherwise : found->second;
}

}  // namespace ak::runtime
