// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/tolerance_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/problem/problem_values.h"

namespace ak::codegen {
namespace {

void read_scale(const JsonReader& at, const Params& params, OutputRule& rule) {
  if (const auto given = at.find("factor")) rule.factor = given->number();
  if (!(rule.factor > 0)) at.member("factor").fail("a number above 0");
  if (const auto given = at.find("floor_ulps")) rule.floor_ulps = read_number(*given, params);
  if (!(rule.floor_ulps >= 0)) at.member("floor_ulps").fail("a number of at least 0");
  if (const auto given = at.find("per")) {
    const std::string per = given->text();
    if (per != "row" && per != "tensor") given->fail("\"row\" or \"tensor\"");
    rule.per_row = per == "row";
  }
}

void read_exact(const JsonReader& at, const ProblemInstance& instance, OutputRule& rule) {
  if (at.json().is_boolean()) {
    rule.exact = at.boolean();
    return;
  }
  for (const JsonReader& item : at.items()) {
    const std::string name = item.text();
    if (std::ranges::find(instance.absent_distributions, name) != instance.absent_distributions.end())
      continue;
    if (std::ranges::find(instance.distributions, name, &InputDistribution::name) ==
        instance.distributions.end()) {
      std::vector<std::string> names;
      for (const InputDistribution& known : instance.distributions) names.push_back(known.name);
      item.fail(fmt::format("the name of a distribution: {}", fmt::join(names, ", ")));
    }
    rule.exact_on.push_back(name);
  }
}

bool is_matrix_like(const TensorSpec& tensor) { return tensor.shape && !tensor.shape->empty(); }

/// The input that indices of `output` select from.
std::string read_source(const JsonReader& at, const Definition& definition, const TensorSpec& output) {
  const std::string name = at.text();
  const auto source = std::ranges::find(definition.inputs, name, &TensorSpec::name);
  if (source == definition.inputs.end() || !is_matrix_like(*source))
    at.fail("the name of an input with axes");
  if (info(output.dtype).floating || output.dtype == DType::boolean)
    at.reject(fmt::format("{} is of type {}; indices are integers", output.name, info(output.dtype).name));
  const auto rows = [](const TensorSpec& tensor) {
    return std::vector<std::string>(tensor.shape->begin(), tensor.shape->end() - 1);
  };
  if (rows(output) != rows(*source))
    at.reject(fmt::format("{} and {} must have the same axes but for the last, along which indices select",
                          output.name, name));
  return name;
}

/// What is said of an output, or of a list the first for which no `when` says otherwise.
std::optional<JsonReader> rule_that_holds(const JsonReader& at, const Params& params) {
  for (const JsonReader& rule : at.json().is_array() ? at.items() : std::vector{at}) {
    if (const auto when = rule.find("when"); !when || holds(*when, params)) return rule;
  }
  return std::nullopt;
}

OutputRule read_rule(const JsonReader& at, OutputRule rule, const ProblemInstance& instance,
                     const TensorSpec& output) {
  at.only({"when", "factor", "floor_ulps", "per", "exact", "equal_share", "set", "gather"});
  read_scale(at, instance.params, rule);
  if (const auto given = at.find("exact")) read_exact(*given, instance, rule);
  if (const auto given = at.find("equal_share")) {
    rule.equal_share = given->number();
    if (!(*rule.equal_share > 0 && *rule.equal_share <= 1)) given->fail("a share above 0 and at most 1");
  }
  for (const char* word : {"set", "gather"}) {
    if (at.find(word) && !is_matrix_like(output))
      at.member(word).reject(fmt::format("{} has no axis to be ordered along", output.name));
  }
  if (const auto given = at.find("set")) rule.set = given->boolean();
  if (const auto given = at.find("gather")) rule.gather = read_source(*given, instance.definition, output);
  if (rule.has_view() && (rule.exact || !rule.exact_on.empty() || rule.equal_share))
    at.reject("'exact' and 'equal_share' are about elements in their places, 'set' and 'gather' are not");
  if (rule.exact && rule.equal_share) at.reject("'exact' and 'equal_share' contradict each other");
  return rule;
}

}  // namespace

Tolerance read_tolerance(const JsonReader& at, const ProblemInstance& instance) {
  at.only({"factor", "floor_ulps", "per", "reason", "allow_nondeterministic", "internal", "outputs"});
  OutputRule common;
  read_scale(at, instance.params, common);
  Tolerance tolerance{
      .factor = common.factor, .floor_ulps = common.floor_ulps, .reason = at.member("reason").text()};
  if (const auto given = at.find("allow_nondeterministic")) {
    tolerance.allow_nondeterministic =
        given->json().is_string() ? holds(*given, instance.params) : given->boolean();
  }
  if (const auto given = at.find("internal")) {
    tolerance.internal = read_dtype(*given, instance.params);
    if (!info(*tolerance.internal).floating) given->fail("a floating dtype");
  }
  if (common.per_row) {
    for (const TensorSpec& output : instance.definition.outputs) tolerance.outputs[output.name] = common;
  }
  const auto outputs = at.find("outputs");
  if (!outputs) return tolerance;
  for (const auto& [name, rules] : outputs->members()) {
    const auto& absent = instance.absent_outputs;
    if (std::ranges::find(absent, name, &TensorSpec::name) != absent.end()) continue;
    const auto rule = rule_that_holds(rules, instance.params);
    if (!rule) continue;
    const auto output = std::ranges::find(instance.definition.outputs, name, &TensorSpec::name);
    if (output == instance.definition.outputs.end()) rule->reject(fmt::format("'{}' is not an output", name));
    tolerance.outputs[name] = read_rule(*rule, common, instance, *output);
  }
  return tolerance;
}

}  // namespace ak::codegen
