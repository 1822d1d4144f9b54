// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/member_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/emit/finished_plan.h"
#include "codegen/sets/code_closure.h"
#include "codegen/source/frozen_constants.h"
#include "core/plan/known_value.h"
#include "core/text/json_reader.h"

namespace ak::codegen {
namespace {

Expression parsed(const std::string& text) {
  Result<Expression> expression = Expression::parse(text);
  if (!expression) throw JsonInputError(fmt::format("'{}': {}", text, expression.error().message));
  return std::move(expression).value();
}

}  // namespace

MemberPlan::MemberPlan(const ProblemInstance& problem, const Candidate& member, const MemberText& text,
                       std::size_t number, bool takes_every_shape)
    : problem_(problem),
      text_(text),
      plan_(finished_plan(problem, member)),
      number_(number),
      known_(problem.environment({})) {
  for (const auto& [name, value] : member.tunables) {
    known_[name] = value;
    named_[name] = inlined_[name] = literal_text(value);
  }
  read_names();
  read_conditions(takes_every_shape);
}

/// Names with one value for all shapes become it.
void MemberPlan::read_names() {
  std::erase_if(plan_.let, [&](const auto& let) {
    const auto& [name, expression] = let;
    const auto value = known_value(expression, known_);
    if (value) known_[name] = *value;
    named_[name] = value ? literal_text(*value) : own_name(name);
    inlined_[name] = value ? literal_text(*value) : fmt::format("({})", inlined(expression));
    return value.has_value();
  });
}

void MemberPlan::read_conditions(bool takes_every_shape) {
  std::vector<std::string> conditions;
  for (const Expression& constraint : plan_.constraints) {
    if (known_truth(constraint, known_) == true) continue;
    const Expression whole = parsed(inlined(constraint));
    if (asks_for_sizes(whole))
      conditions.push_back(fmt::format("({})", whole.text()));
    else
      device_constraints_.push_back(whole);
  }
  if (!takes_every_shape) add_grid_limits(conditions);
  std::vector<std::string> launches;
  bool always = takes_every_shape;
  for (const LaunchPlanEntry& launch : plan_.launches) {
    always = always || !launch.when || launch.loop;
    if (launch.when) launches.push_back(fmt::format("({})", inlined(*launch.when)));
  }
  if (!always) conditions.push_back(fmt::format("({})", fmt::join(launches, " or ")));
  takes_ = fmt::format("{}", fmt::join(conditions, " and "));
}

/// The dimensions y and z of a grid are small: a row in each is too much for many rows.
void MemberPlan::add_grid_limits(std::vector<std::string>& conditions) const {
  for (const LaunchPlanEntry& launch : plan_.launches) {
    if (launch.loop) continue;  // its variable has no value yet
    for (std::size_t i = 1; i < launch.grid.size(); ++i) {
      const Expression blocks = parsed(inlined(launch.grid[i]));
      if (!asks_for_sizes(blocks)) continue;
      const std::string unless = launch.when ? fmt::format("not ({}) or ", inlined(*launch.when)) : "";
      const std::string limit = fmt::format("({}({}) <= {})", unless, blocks.text(), kMaxGrid[i]);
      if (std::ranges::find(conditions, limit) == conditions.end()) conditions.push_back(limit);
    }
  }
}

bool MemberPlan::asks_for_sizes(const Expression& inlined) const {
  return std::ranges::any_of(problem_.definition.axes, [&](const Axis& axis) {
    return !axis.value && inlined.names().contains(axis.name);
  });
}

std::string MemberPlan::inlined(const Expression& expression) const {
  return with_names_replaced(expression, inlined_);
}
std::string MemberPlan::named(const Expression& expression) const {
  return with_names_replaced(expression, named_);
}
std::string MemberPlan::own_name(const std::string& name) const {
  return fmt::format("{}_{}", text_.space, name);
}

/// What another member's shape may have no value for.
std::string MemberPlan::if_chosen(const std::string& text) const {
  return fmt::format("({}) if {} == {} else 0", text, kMemberName, number_);
}

std::vector<std::string> MemberPlan::time(const TimeEstimate& estimate) const {
  std::vector<std::string> sum;
  for (const TimeTerm& term : estimate.terms)
    sum.push_back(term.amount == "1" ? std::to_string(term.ps)
                                     : fmt::format("{} * ({})", term.ps, inlined(parsed(term.amount))));
  return sum;
}

std::vector<Expression> MemberPlan::renamed(const std::vector<Expression>& list,
                                            const NameTexts& texts) const {
  std::vector<Expression> result;
  for (const Expression& one : list) result.push_back(parsed(with_names_replaced(one, texts)));
  return result;
}

std::string MemberPlan::pointer(const std::string& name, const MemberPlan& owner) const {
  const auto space = std::ranges::find(plan_.workspace, name, &WorkspacePlan::name);
  if (space != plan_.workspace.end()) return space->prepared ? owner.own_name(name) : own_name(name);
  const bool map =
      std::ranges::find(plan_.tensor_maps, name, &TensorMapPlan::name) != plan_.tensor_maps.end();
  return map ? own_name(name) : name;
}

LaunchPlanEntry MemberPlan::renamed(const LaunchPlanEntry& launch, const NameTexts& texts) const {
  LaunchPlanEntry entry = launch;
  for (auto* list : {&entry.grid, &entry.block, &entry.cluster}) *list = renamed(*list, texts);
  if (launch.shared_bytes) entry.shared_bytes = parsed(with_names_replaced(*launch.shared_bytes, texts));
  for (ArgumentPlan& argument : entry.arguments) {
    auto* scalar = std::get_if<ScalarArgument>(&argument);
    auto* number = scalar != nullptr ? std::get_if<Expression>(&scalar->value) : nullptr;
    if (number != nullptr) *number = parsed(with_names_replaced(*number, texts));
  }
  return entry;
}

TensorMapPlan MemberPlan::renamed(TensorMapPlan map, const NameTexts& texts) const {
  for (auto* list : {&map.dims, &map.strides_bytes, &map.box, &map.element_strides})
    *list = renamed(*list, texts);
  return map;
}

LaunchPlanEntry MemberPlan::placed(LaunchPlanEntry launch, const MemberPlan& owner) const {
  launch.kernel = kernel_in_space(launch.kernel, text_);
  for (ArgumentPlan& argument : launch.arguments)
    if (auto* given = std::get_if<NamedArgument>(&argument)) given->name = pointer(given->name, owner);
  return launch;
}

LaunchPlanEntry MemberPlan::preparation(const LaunchPlanEntry& launch) const {
  LaunchPlanEntry entry = renamed(launch, inlined_);
  if (launch.when) entry.when = parsed(inlined(*launch.when));
  if (launch.loop)
    entry.loop = LoopPlan{launch.loop->variable, parsed(inlined(launch.loop->low)),
                          parsed(inlined(launch.loop->high))};
  return entry;
}

std::string MemberPlan::layout() const {
  LaunchPlan part;
  std::set<std::string> kernels;
  MemberText any = text_;
  any.space = "any";  // types of the same code are the same in every member
  for (const LaunchPlanEntry& launch : plan_.prepare) {
    part.prepare.push_back(preparation(launch));
    part.prepare.back().kernel = kernel_in_space(launch.kernel, any);
    kernels.insert(launch.kernel);
  }
  for (const WorkspacePlan& space : plan_.workspace) {
    if (!space.prepared) continue;
    part.workspace.push_back(space);
    part.workspace.back().count = parsed(inlined(space.count));
  }
  for (const TensorMapPlan& map : plan_.tensor_maps) {
    const auto takes = [&](const ArgumentPlan& argument) {
      const auto* given = std::get_if<NamedArgument>(&argument);
      return given != nullptr && given->name == map.name;
    };
    if (std::ranges::any_of(plan_.prepare, [&](const LaunchPlanEntry& launch) {
          return std::ranges::any_of(launch.arguments, takes);
        }))
      part.tensor_maps.push_back(renamed(map, inlined_));
  }
  const std::string code = code_behind(text_.code, kernels);
  std::string text = to_json(part).dump() + "\n" + code;
  for (const auto& [name, value] : text_.tunables)
    if (mentions(code, name) || mentions(code, "AK_" + name)) text += fmt::format("\n{}={}", name, value);
  return text;
}

void MemberPlan::add_constraints(LaunchPlan& set, bool fallback) const {
  if (fallback && !takes_.empty())
    set.constraints.push_back(parsed(fmt::format("{} != {} or {}", kMemberName, number_, takes_)));
  for (const Expression& constraint : device_constraints_) {
    const auto same = std::ranges::find(set.constraints, constraint.text(), &Expression::text);
    if (same == set.constraints.end()) set.constraints.push_back(constraint);
  }
}

void MemberPlan::add_names(LaunchPlan& set) const {
  for (const auto& [name, expression] : plan_.let)
    set.let.emplace_back(own_name(name), parsed(if_chosen(named(expression))));
}

void MemberPlan::add_launches(LaunchPlan& set, const MemberPlan& owner) const {
  for (const WorkspacePlan& space : plan_.workspace) {
    if (space.prepared) continue;
    WorkspacePlan own = space;
    own.name = own_name(space.name);
    own.count = parsed(if_chosen(named(space.count)));
    set.workspace.push_back(std::move(own));
  }
  for (const TensorMapPlan& map : plan_.tensor_maps) {
    TensorMapPlan own = renamed(map, named_);
    own.name = own_name(map.name);
    own.tensor = pointer(map.tensor, owner);
    set.tensor_maps.push_back(std::move(own));
  }
  for (const LaunchPlanEntry& launch : plan_.launches) {
    LaunchPlanEntry entry = placed(renamed(launch, named_), owner);
    const bool always = !launch.when || known_truth(*launch.when, known_) == true;
    entry.when = parsed(always ? fmt::format("{} == {}", kMemberName, number_)
                               : fmt::format("{} == {} and ({})", kMemberName, number_, named(*launch.when)));
    if (launch.loop)
      entry.loop = LoopPlan{launch.loop->variable, parsed(if_chosen(named(launch.loop->low))),
                            parsed(if_chosen(named(launch.loop->high)))};
    set.launches.push_back(std::move(entry));
  }
}

/// For whatever member: weights stay prepared while other shapes are asked for.
void MemberPlan::add_preparation(LaunchPlan& set) const {
  for (const WorkspacePlan& space : plan_.workspace) {
    if (!space.prepared) continue;
    WorkspacePlan own = space;
    own.name = own_name(space.name);
    own.count = parsed(inlined(space.count));
    set.workspace.push_back(std::move(own));
  }
  for (const LaunchPlanEntry& launch : plan_.prepare)
    set.prepare.push_back(placed(preparation(launch), *this));
}

}  // namespace ak::codegen
