// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/set_candidate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "codegen/sets/member_plan.h"
#include "codegen/sets/member_source.h"
#include "core/text/json_reader.h"

namespace ak::codegen {
namespace {

std::string space_of(std::size_t number) { return fmt::format("member_{}", number); }

/// The cells of a member as one condition; empty where it has none.
std::string cells_of(const SetRule& rule, std::size_t member) {
  std::vector<std::string> conditions;
  for (const RuleCell& cell : rule.cells)
    if (cell.member == member) conditions.push_back(cell.condition());
  if (conditions.size() < 2) return conditions.empty() ? "" : conditions.front();
  return fmt::format("({})", fmt::join(conditions, ") or ("));
}

/// "2 if M <= 64 else 3 if K % 8 == 0 else 1"
std::string member_expression(const SetRule& rule, const std::vector<MemberPlan>& plans) {
  std::string text;
  for (std::size_t member = 0; member < plans.size(); ++member) {
    const std::string cells = cells_of(rule, member), &takes = plans[member].takes();
    if (member == rule.fallback || cells.empty()) continue;
    const std::string condition = takes.empty() ? cells : fmt::format("({}) and {}", cells, takes);
    text += fmt::format("{} if {} else ", member + 1, condition);
  }
  return text + std::to_string(rule.fallback + 1);
}

std::string heading_of(const KernelSet& set, std::size_t member) {
  return fmt::format("// Member {}, for {}: {}\n", member + 1, shapes_of_member(set, member),
                     point_text(set.members[member].candidate));
}

LaunchPlan plan_of(const KernelSet& set, const std::vector<MemberPlan>& plans) {
  LaunchPlan plan;
  plan.options = set.members.front().candidate.plan.options;
  Result<Expression> chosen = Expression::parse(member_expression(set.rule, plans));
  if (!chosen) throw JsonInputError(fmt::format("the rule: {}", chosen.error().message));
  plan.let.emplace_back(kMemberName, std::move(chosen).value());
  std::map<std::string, const MemberPlan*> owners;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const MemberPlan& member = plans[i];
    member.add_constraints(plan, i == set.rule.fallback);
    member.add_names(plan);
    const auto [owner, added] = owners.emplace(member.prepares() ? member.layout() : "", &member);
    if (added && member.prepares()) member.add_preparation(plan);
    member.add_launches(plan, *owner->second);
  }
  return plan;
}

std::string head_comment(const KernelSet& set) {
  std::string text =
      fmt::format("// A set of {} kernels. Which of them takes a shape:\n", set.members.size());
  for (const std::string& line : rule_lines(set)) text += fmt::format("//   {}\n", line);
  return text;
}

Result<Candidate> composed(const ProblemInstance& problem, const KernelSet& set) {
  std::vector<MemberText> texts;
  for (std::size_t i = 0; i < set.members.size(); ++i)
    texts.push_back(member_text(problem, set.members[i].candidate, space_of(i + 1), heading_of(set, i)));
  std::vector<MemberPlan> plans;
  for (std::size_t i = 0; i < set.members.size(); ++i)
    plans.emplace_back(problem, set.members[i].candidate, texts[i], i + 1, set.members[i].takes_every_shape);
  const std::string source =
      fmt::format("/* alphakernel {{}} */\n{}{}", head_comment(set), members_source(texts));
  return parse_candidate(set.name, with_plan(source, plan_of(set, plans)));
}

}  // namespace

std::string point_text(const Candidate& candidate) {
  std::string text = std::filesystem::path(candidate.name).filename().string();
  for (const auto& [name, value] : candidate.tunables) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string shapes_of_member(const KernelSet& set, std::size_t member) {
  if (member != set.rule.fallback) return cells_of(set.rule, member);
  return set.members.size() == 1 ? "every shape" : "every other shape";
}

std::vector<std::string> rule_lines(const KernelSet& set) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& condition, std::size_t member) {
    lines.push_back(
        fmt::format("{} -> member {}: {}", condition, member + 1, point_text(set.members[member].candidate)));
  };
  for (const RuleCell& cell : set.rule.cells)
    if (cell.member != set.rule.fallback) add(cell.condition(), cell.member);
  add(shapes_of_member(set, set.rule.fallback), set.rule.fallback);
  return lines;
}

std::string prepared_layout(const ProblemInstance& problem, const Candidate& candidate) {
  if (candidate.plan.prepare.empty()) return "";
  const MemberText text = member_text(problem, candidate, space_of(1), "");
  return MemberPlan(problem, candidate, text, 1, true).layout();
}

Result<Candidate> set_candidate(const ProblemInstance& problem, const KernelSet& set) {
  if (set.members.size() == 1) return set.members.front().candidate;
  for (const SetMember& member : set.members)
    if (member.candidate.plan.options != set.members.front().candidate.plan.options)
      return InputError{
          fmt::format("{} and {} are compiled with different options: one program has one list of them",
                      set.members.front().candidate.name, member.candidate.name)};
  try {
    return composed(problem, set);
  } catch (const JsonInputError& error) {
    return InputError{error.what()};
  }
}

}  // namespace ak::codegen
