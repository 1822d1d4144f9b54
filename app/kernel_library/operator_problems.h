// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "app/kernel_library/model_operators.h"
#include "codegen/problem/problem_catalog.h"

namespace ak::app {

/// Problems of the library for operators of models. Those with the same params are read once. Used by one thread.
class OperatorProblems {
 public:
  /// Gives `line` the problem of its algorithm with its params, at its axes, and all params that the problem has. Where
  /// the problem refuses params or shape, the note says why instead. Throws Error(bad_input) for a broken problem folder.
  void give(ModelOperator& line);

 private:
  using Flags = std::map<std::string, std::string>;  ///< params as flags have them
  const codegen::Problem& family(const std::string& algorithm);
  std::shared_ptr<const ProblemInstance> instance(const std::string& algorithm, const Flags& flags);

  std::map<std::string, codegen::Problem, std::less<>> families_;
  std::map<std::pair<std::string, Flags>, std::shared_ptr<const ProblemInstance>> instances_;
};

}  // namespace ak::app
