// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/finished_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/plan/known_value.h"

namespace ak::codegen {
namespace {

using Names = std::set<std::string, std::less<>>;

/// `known` with those of the plan's names that follow from it.
Environment with_names(const LaunchPlan& plan, Environment known) {
  for (const auto& [name, expression] : plan.let) {
    const auto value = known_value(expression, known);
    known.erase(name);
    if (value) known[name] = *value;
  }
  return known;
}

/// The launch happens for no shape. One that asks for its own loop's variable is not judged.
bool is_never(const LaunchPlanEntry& launch, const Environment& known) {
  if (!launch.when || (launch.loop && launch.when->names().contains(launch.loop->variable))) return false;
  return known_truth(*launch.when, known) == false;
}

/// Keeps points from being tried that need this launch; nothing where the expression would be too long.
std::optional<Expression> without_launch(const LaunchPlanEntry& launch) {
  const Result<Expression> parsed = Expression::parse(fmt::format("not ({})", launch.when->text()));
  return parsed ? std::optional(*parsed) : std::nullopt;
}

/// Leaves out the launches that never happen under `chosen`, unless it would be all of them.
/// @param fixed what every point has
void leave_out_launches(LaunchPlan& plan, const Environment& fixed, const Environment& chosen) {
  std::vector<LaunchPlanEntry> kept;
  std::vector<Expression> constraints = plan.constraints;
  for (const LaunchPlanEntry& launch : plan.launches) {
    if (is_never(launch, fixed)) continue;
    const auto without = is_never(launch, chosen) ? without_launch(launch) : std::nullopt;
    if (without)
      constraints.push_back(*without);
    else
      kept.push_back(launch);
  }
  if (kept.empty()) return;
  plan.launches = std::move(kept);
  plan.constraints = std::move(constraints);
}

void add_names(Names& names, const std::vector<Expression>& expressions) {
  for (const Expression& one : expressions) names.insert(one.names().begin(), one.names().end());
}

void add_names(Names& names, const std::optional<Expression>& expression) {
  if (expression) names.insert(expression->names().begin(), expression->names().end());
}

/// Everything that a launch refers to: names of its expressions, tensors, workspace and tensor maps.
void add_names(Names& names, const LaunchPlanEntry& launch) {
  for (const auto* list : {&launch.grid, &launch.block, &launch.cluster}) add_names(names, *list);
  add_names(names, launch.shared_bytes);
  add_names(names, launch.when);
  if (launch.loop) add_names(names, std::vector{launch.loop->low, launch.loop->high});
  for (const ArgumentPlan& argument : launch.arguments) {
    if (const auto* named = std::get_if<NamedArgument>(&argument)) names.insert(named->name);
    if (const auto* optional = std::get_if<OptionalArgument>(&argument)) names.insert(optional->name);
    const auto* scalar = std::get_if<ScalarArgument>(&argument);
    const auto* number = scalar != nullptr ? std::get_if<Expression>(&scalar->value) : nullptr;
    if (number != nullptr) names.insert(number->names().begin(), number->names().end());
  }
}

void leave_out_unused(LaunchPlan& plan) {
  Names used;
  for (const auto* launches : {&plan.prepare, &plan.launches})
    for (const LaunchPlanEntry& launch : *launches) add_names(used, launch);
  std::erase_if(plan.tensor_maps, [&](const TensorMapPlan& map) { return !used.contains(map.name); });
  for (const TensorMapPlan& map : plan.tensor_maps) {
    used.insert(map.tensor);
    for (const auto* list : {&map.dims, &map.strides_bytes, &map.box, &map.element_strides})
      add_names(used, *list);
  }
  std::erase_if(plan.workspace, [&](const WorkspacePlan& space) { return !used.contains(space.name); });
  for (const WorkspacePlan& space : plan.workspace) add_names(used, std::vector{space.count});
  add_names(used, plan.constraints);
  add_names(used, plan.time_terms);
  for (auto let = plan.let.end(); let != plan.let.begin();) {  // a later one may use an earlier one
    --let;
    if (used.contains(let->first))
      used.insert(let->second.names().begin(), let->second.names().end());
    else
      let = plan.let.erase(let);
  }
}

}  // namespace

LaunchPlan finished_plan(const ProblemInstance& problem, const Candidate& candidate) {
  LaunchPlan plan = candidate.plan;
  plan.problem = problem.problem;
  plan.params = Json::object();
  for (const auto& [name, value] : problem.params)
    std::visit([&, &key = name](const auto& v) { plan.params[key] = v; }, value);
  plan.frozen = candidate.tunables;
  plan.starts.clear();
  const Environment fixed = problem.environment({});
  Environment chosen = fixed;
  for (const auto& [name, value] : candidate.tunables) chosen[name] = value;
  const std::size_t launches = plan.launches.size();
  leave_out_launches(plan, with_names(candidate.plan, fixed), with_names(candidate.plan, chosen));
  if (plan.launches.size() < launches) leave_out_unused(plan);
  return plan;
}

}  // namespace ak::codegen
