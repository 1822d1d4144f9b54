// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/model_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/kernel_library/operator_problems.h"
#include "core/error.h"

namespace ak::app {
namespace {

/// What is asked for, as expressions of a kind have it: operators that no module calls, and what modules call under
/// torch.compile.
constexpr const char *kOutside = "outside", *kCompiled = "compiled";

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

/// The first of its algorithms that is for these sizes, texts and flags; the end: none is.
auto choice_of(const OperatorEntry& entry, const Environment& environment) {
  return std::ranges::find_if(entry.choices, [&](const OperatorKernel& one) {
    return holds_here(one.when, environment, entry.name);
  });
}

/// Why it has no algorithm.
std::string reason_for_none(const OperatorEntry& entry, Environment environment) {
  environment[kCompiled] = std::int64_t{0};
  return choice_of(entry, environment) == entry.choices.end()
             ? "no algorithm of the library does this"
             : "with torch.compile it is the model's own code, which is compiled";
}

/// Chooses the algorithm, and has its problem at this shape; what it refuses becomes the note.
void give_kernel(ModelOperator& line, const OperatorEntry& entry, const Environment& environment,
                 OperatorProblems& problems) {
  const auto choice = choice_of(entry, environment);
  if (choice == entry.choices.end()) {
    line.note = reason_for_none(entry, environment);
    return;
  }
  line.algorithm = choice->algorithm;
  for (const auto& [name, axis] : choice->axes) line.axes[name] = integer(axis, environment, entry.name);
  for (const auto& [name, param] : choice->params)
    line.params[name] = value_or_fail(param.evaluate(environment), param, entry.name);
  problems.give(line);
}

ModelOperator operator_of(const OperatorEntry& entry, Environment environment, OperatorProblems& problems) {
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

/// Whether it would be there if what is outside of modules were asked for.
bool is_outside(const OperatorEntry& entry, Environment environment) {
  environment[kOutside] = std::int64_t{1};
  return holds_here(entry.when, environment, entry.name);
}

ModelStep step_of(const Geometry& geometry, const ModelPhase& phase, ModelStep step, const StepSizes& asked,
                  OperatorProblems& problems) {
  Environment environment = geometry.values;
  environment["phase"] = phase.name;
  environment[kOutside] = std::int64_t{asked.outside};
  environment[kCompiled] = std::int64_t{asked.compiled};
  environment["batch"] = step.batch;
  environment[step.length_name] = step.length;
  add_values(environment, phase.let, phase.name);
  for (const OperatorEntry& entry : geometry.kind.operators) {
    if (!in_phase(entry, phase)) continue;
    if (!holds_here(entry.when, environment, entry.name)) {
      if (is_outside(entry, environment)) step.left_out.insert(entry.name);
      continue;
    }
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

/// Those that are asked for, in the kind's order.
std::vector<ModelPhase> phases_of(const ModelKind& kind, const std::vector<std::string>& asked) {
  if (asked.empty()) return kind.phases;
  std::vector<std::string> names;
  for (const ModelPhase& phase : kind.phases) names.push_back(phase.name);
  for (const std::string& name : asked)
    if (std::ranges::find(names, name) == names.end())
      fail(ExitCode::usage, "--phase {}: {} has no such steps; expected {}", name, kind.name,
           fmt::join(names, " or "));
  std::vector<ModelPhase> phases;
  for (const ModelPhase& phase : kind.phases)
    if (std::ranges::find(asked, phase.name) != asked.end()) phases.push_back(phase);
  return phases;
}

}  // namespace

std::vector<ModelStep> model_steps(const Geometry& geometry, const StepSizes& sizes) {
  OperatorProblems problems;
  std::vector<ModelStep> steps;
  for (const ModelPhase& phase : phases_of(geometry.kind, sizes.phases)) {
    const bool has_context = std::ranges::find(phase.over, "context") != phase.over.end();
    for (const std::int64_t batch : sizes.batches) {
      for (const std::int64_t length : has_context ? sizes.contexts : sizes.prompts)
        steps.push_back(step_of(geometry, phase,
                                {.phase = phase.name,
                                 .batch = batch,
                                 .length = length,
                                 .length_name = has_context ? "context" : "prompt",
                                 .operators = {}},
                                sizes, problems));
    }
  }
  return steps;
}

}  // namespace ak::app
