// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/model_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/problem/problem_catalog.h"
#include "codegen/problem/problem_reader.h"
#include "core/error.h"

namespace ak::app {
namespace {

/// An expression's value, with the operator that needs it in messages.
template <class T>
T value_or_fail(Result<T> value, const Expression& expression, const std::string& where) {
  if (!value) fail(ExitCode::bad_input, "{}: '{}': {}", where, expression.text(), value.error().message);
  return std::move(value).value();
}

std::int64_t integer(const Expression& expression, const Environment& environment, const std::string& where) {
  return value_or_fail(expression.evaluate_integer(environment), expression, where);
}

bool holds_here(const std::optional<Expression>& condition, const Environment& environment,
                const std::string& where) {
  return !condition || value_or_fail(condition->evaluate_bool(environment), *condition, where);
}

/// Problems by definition and shape, which are the same in many steps: reading one takes milliseconds.
class Problems {
 public:
  /// Throws Error where the algorithm does not exist, or refuses params or shape.
  std::shared_ptr<const ProblemInstance> at(const std::string& algorithm,
                                            const std::map<std::string, std::string>& params,
                                            const AxisValues& axes) {
    const auto unshaped = instance(algorithm, params);
    if (const std::string error = codegen::size_error(*unshaped, axes); !error.empty())
      fail(ExitCode::usage, "{}: {}", algorithm, error);
    std::string shape;
    for (const auto& [name, size] : axes)
      shape += fmt::format("{}{}={}", shape.empty() ? "" : ",", name, size);
    return codegen::with_shape(*unshaped, shape);
  }
  const codegen::Problem& family(const std::string& algorithm) {
    const auto found = families_.find(algorithm);
    if (found != families_.end()) return found->second;
    return families_.emplace(algorithm, codegen::load_problem(codegen::find_problem(algorithm)))
        .first->second;
  }

 private:
  std::shared_ptr<const ProblemInstance> instance(const std::string& algorithm,
                                                  const std::map<std::string, std::string>& params) {
    auto& known = instances_[{algorithm, params}];
    if (!known) {
      const codegen::Problem& problem = family(algorithm);
      known = codegen::instantiate(problem, codegen::choose_params(problem, params));
    }
    return known;
  }
  std::map<std::string, codegen::Problem, std::less<>> families_;
  std::map<std::pair<std::string, std::map<std::string, std::string>>, std::shared_ptr<const ProblemInstance>>
      instances_;
};

/// As a flag has it: yes and no are integers in expressions.
std::string flag_text(const codegen::Problem& problem, const std::string& name, const Value& value) {
  const auto spec = std::ranges::find(problem.params, name, &ParamSpec::name);
  const bool boolean = spec != problem.params.end() && spec->type == ParamType::boolean;
  if (boolean && std::holds_alternative<std::int64_t>(value))
    return std::get<std::int64_t>(value) != 0 ? "true" : "false";
  return to_string(value);
}

/// Chooses the algorithm, and has its problem at this shape; what it refuses becomes the note.
void give_kernel(ModelOperator& line, const OperatorEntry& entry, const Environment& environment,
                 Problems& problems) {
  const auto choice = std::ranges::find_if(
      entry.choices, [&](const KernelChoice& one) { return holds_here(one.when, environment, entry.name); });
  if (choice == entry.choices.end()) {
    line.note = "no algorithm of the library does this";
    return;
  }
  line.algorithm = choice->algorithm;
  for (const auto& [name, axis] : choice->axes) line.axes[name] = integer(axis, environment, entry.name);
  std::map<std::string, std::string> params;
  try {
    const codegen::Problem& family = problems.family(choice->algorithm);
    for (const auto& [name, param] : choice->params) {
      const Value value = value_or_fail(param.evaluate(environment), param, entry.name);
      line.params[name] = value;
      params[name] = flag_text(family, name, value);
    }
    line.problem = problems.at(choice->algorithm, params, line.axes);
    line.params = line.problem->params;
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    line.note = error.what();  // that the problem has no such dtype, head size or shape
  }
}

ModelOperator operator_of(const OperatorEntry& entry, Environment environment, Problems& problems) {
  add_values(environment, entry.with, entry.name);
  ModelOperator line{.name = entry.name,
                     .what = entry.what,
                     .count = integer(entry.count, environment, entry.name),
                     .algorithm = {},
                     .params = {},
                     .axes = {},
                     .problem = nullptr,
                     .note = {}};
  if (line.count <= 0) return line;
  line.flops = static_cast<double>(integer(entry.flops, environment, entry.name));
  line.bytes = static_cast<double>(integer(entry.bytes, environment, entry.name));
  give_kernel(line, entry, environment, problems);
  return line;
}

bool in_phase(const OperatorEntry& entry, const ModelPhase& phase) {
  return entry.phases.empty() || std::ranges::find(entry.phases, phase.name) != entry.phases.end();
}

ModelStep step_of(const Geometry& geometry, const ModelPhase& phase, ModelStep step, Problems& problems) {
  Environment environment = geometry.values;
  environment["phase"] = phase.name;
  environment["batch"] = step.batch;
  environment[step.length_name] = step.length;
  add_values(environment, phase.let, phase.name);
  for (const OperatorEntry& entry : geometry.kind.operators) {
    if (!in_phase(entry, phase) || !holds_here(entry.when, environment, entry.name)) continue;
    ModelOperator line = operator_of(entry, environment, problems);
    if (line.count > 0) step.operators.push_back(std::move(line));
  }
  for (const std::string& what : geometry.not_described)
    step.operators.push_back({.name = what.substr(0, what.find(':')),
                              .what = what,
                              .algorithm = {},
                              .params = {},
                              .axes = {},
                              .problem = nullptr,
                              .note = "not described by this kind of model: its operators are missing here"});
  return step;
}

}  // namespace

std::vector<ModelStep> model_steps(const Geometry& geometry, const StepSizes& sizes) {
  Problems problems;
  std::vector<ModelStep> steps;
  for (const ModelPhase& phase : geometry.kind.phases) {
    const bool has_context = std::ranges::find(phase.over, "context") != phase.over.end();
    for (const std::int64_t batch : sizes.batches) {
      for (const std::int64_t length : has_context ? sizes.contexts : sizes.prompts)
        steps.push_back(step_of(geometry, phase,
                                {.phase = phase.name,
                                 .batch = batch,
                                 .length = length,
                                 .length_name = has_context ? "context" : "prompt",
                                 .operators = {}},
                                problems));
    }
  }
  return steps;
}

}  // namespace ak::app
