// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/operator_problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/problem/problem_catalog.h"
#include "codegen/problem/problem_reader.h"
#include "core/error.h"

namespace ak::app {
namespace {

/// As a flag has it: yes and no are integers in expressions.
std::string flag_text(const codegen::Problem& problem, const std::string& name, const Value& value) {
  const auto spec = std::ranges::find(problem.params, name, &ParamSpec::name);
  const bool boolean = spec != problem.params.end() && spec->type == ParamType::boolean;
  if (boolean && std::holds_alternative<std::int64_t>(value))
    return std::get<std::int64_t>(value) != 0 ? "true" : "false";
  return to_string(value);
}

}  // namespace

void OperatorProblems::give(ModelOperator& line) {
  try {
    Flags flags;
    for (const auto& [name, value] : line.params)
      flags[name] = flag_text(family(line.algorithm), name, value);
    const auto unshaped = instance(line.algorithm, flags);
    if (const std::string error = codegen::size_error(*unshaped, line.axes); !error.empty())
      fail(ExitCode::usage, "{}: {}", line.algorithm, error);
    line.problem = codegen::with_shape(*unshaped, shape_name(unshaped->definition, line.axes));
    line.params = line.problem->params;
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    line.note = error.what();  // that the problem has no such dtype, head size or shape
  }
}

const codegen::Problem& OperatorProblems::family(const std::string& algorithm) {
  const auto found = families_.find(algorithm);
  if (found != families_.end()) return found->second;
  return families_.emplace(algorithm, codegen::load_problem(codegen::find_problem(algorithm))).first->second;
}

std::shared_ptr<const ProblemInstance> OperatorProblems::instance(const std::string& algorithm,
                                                                  const Flags& flags) {
  auto& known = instances_[{algorithm, flags}];
  if (!known) {
    const codegen::Problem& problem = family(algorithm);
    known = codegen::instantiate(problem, codegen::choose_params(problem, flags));
  }
  return known;
}

}  // namespace ak::app
