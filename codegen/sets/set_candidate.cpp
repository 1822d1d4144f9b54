// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/set_candidate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>

#include "codegen/sets/member_plan.h"
#include "codegen/sets/member_source.h"
#include "core/error.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"
#include "core/text/json_reader.h"

namespace ak::codegen {
namespace {

std::string space_of(std::size_t number) { return fmt::format("member_{}", number); }

// What a member is estimated to take where it may not be asked: longer than any estimate, and of the fallback one less.
constexpr std::int64_t kNever = std::int64_t{1} << 62;

constexpr const char* kLeastName = "LEAST";

std::string estimate_name(std::size_t member) { return fmt::format("ESTIMATE_{}", member + 1); }

using Let = std::function<void(const std::string& name, const std::string& text)>;

// Half of what an expression may have: which shapes a member takes is beside it.
constexpr std::size_t kLongestSum = 2048;

/// "4690000 + 553000 * (ceil_div(M, 64))"; what is too long for one expression begins with the name of what comes before.
std::string sum_text(const std::vector<std::string>& terms, const std::string& name, const Let& let) {
  std::string sum;
  int parts = 0;
  for (const std::string& term : terms) {
    if (!sum.empty() && sum.size() + term.size() > kLongestSum) {
      const std::string part = fmt::format("{}_{}", name, ++parts);
      let(part, sum);
      sum = part;
    }
    sum += (sum.empty() ? "" : " + ") + term;
  }
  return sum.empty() ? "0" : sum;
}

/// "(4690000 + 553000 * (ceil_div(M, 64))) if (M % 8 == 0) else 4611686018427387904"
void let_estimate(const SetRule& rule, const MemberPlan& plan, std::size_t member, const Let& let) {
  const std::string time = sum_text(plan.time(rule.estimates[member]), estimate_name(member), let);
  const std::int64_t never = member == rule.fallback ? kNever - 1 : kNever;
  let(estimate_name(member),
      plan.takes().empty() ? time : fmt::format("({}) if {} else {}", time, plan.takes(), never));
}

/// "(M == 64) or (M == 96)": the rows of a member; empty where it has none.
std::string rows_of(const SetRule& rule, std::size_t member) {
  std::vector<std::string> conditions;
  for (const RuleRow& row : rule.rows)
    if (row.member == member) conditions.push_back(fmt::format("({})", row.condition()));
  return fmt::format("{}", fmt::join(conditions, " or "));
}

/// "3 if (M == 64) else 1 if ESTIMATE_1 == LEAST else 2 if ESTIMATE_2 == LEAST else 3", where LEAST is the least estimate.
std::string member_expression(const SetRule& rule, std::size_t members, const Let& let) {
  std::string text;
  for (std::size_t member = 0; member < members; ++member)
    if (const std::string rows = rows_of(rule, member); !rows.empty())
      text += fmt::format("{} if {} else ", member + 1, rows);
  std::vector<std::size_t> compared;
  for (std::size_t member = 0; member < members; ++member)
    if (!rule.is_in_rows_alone(member)) compared.push_back(member);
  AK_ASSERT(!compared.empty(), "somebody takes what no row names");
  if (compared.size() > 1) {
    std::vector<std::string> estimates;
    for (const std::size_t member : compared) estimates.push_back(estimate_name(member));
    let(kLeastName, fmt::format("min({})", fmt::join(estimates, ", ")));
  }
  for (auto member = compared.begin(); member + 1 != compared.end(); ++member)
    text += fmt::format("{} if {} == {} else ", *member + 1, estimate_name(*member), kLeastName);
  return text + std::to_string(compared.back() + 1);
}

std::string heading_of(const KernelSet& set, std::size_t member) {
  return fmt::format("// Member {}, for {}: {}\n", member + 1, shapes_of_member(set, member),
                     point_text(set.members[member].candidate));
}

LaunchPlan plan_of(const KernelSet& set, const std::vector<MemberPlan>& plans) {
  LaunchPlan plan;
  plan.options = set.members.front().candidate.plan.options;
  const Let let = [&](const std::string& name, const std::string& text) {
    Result<Expression> expression = Expression::parse(text);
    if (!expression) throw JsonInputError(fmt::format("the rule: {}", expression.error().message));
    plan.let.emplace_back(name, std::move(expression).value());
  };
  AK_ASSERT(set.rule.estimates.size() == plans.size(), "members are compared by their estimates");
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (!set.rule.is_in_rows_alone(i)) let_estimate(set.rule, plans[i], i, let);
  let(kMemberName, member_expression(set.rule, plans.size(), let));
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

/// Not where it is the end of another name.
std::size_t find_name(std::string_view text, const std::string& name) {
  std::size_t at = text.find(name);
  while (at != std::string_view::npos && at > 0 && is_word(text[at - 1])) at = text.find(name, at + 1);
  return at;
}

/// Of the set's file, counted from 1; 0: none.
int line_named_in(const Candidate& set, std::string_view message) {
  const std::string file = set.name + ":";
  const std::size_t at = message.find(file);
  if (at == std::string_view::npos) return 0;
  int line = 0;
  const std::string_view digits = message.substr(at + file.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), line);
  return line;
}

/// The one whose namespace (members_source()) begins last before a line.
std::optional<std::size_t> member_of_line(const Candidate& set, int line, std::size_t members) {
  if (line <= 0) return std::nullopt;
  const std::string_view before =
      std::string_view(set.source).substr(0, offset_behind_line(set.source, line));
  std::optional<std::size_t> last;
  std::size_t farthest = 0;
  for (std::size_t member = 0; member < members; ++member) {
    const std::size_t at = before.rfind(fmt::format("\nnamespace {} {{\n", space_of(member + 1)));
    if (at != std::string_view::npos && at >= farthest) last = member, farthest = at;
  }
  return last;
}

}  // namespace

std::string point_text(const Candidate& candidate) {
  std::string text = std::filesystem::path(candidate.name).filename().string();
  for (const auto& [name, value] : candidate.tunables) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string shapes_of_member(const KernelSet& set, std::size_t member) {
  if (set.members.size() == 1) return "every shape";
  const std::string rows = rows_of(set.rule, member);
  if (set.rule.is_in_rows_alone(member)) return rows;
  return fmt::format("{}{}where least: {}", rows, rows.empty() ? "" : "; ",
                     set.rule.estimates[member].text());
}

std::vector<std::string> rule_lines(const KernelSet& set) {
  std::vector<std::string> lines;
  if (set.members.size() > 1)
    for (const RuleRow& row : set.rule.rows)
      lines.push_back(fmt::format("{} -> member {}", row.condition(), row.member + 1));
  for (std::size_t i = 0; i < set.members.size(); ++i) {
    const std::string where = set.members.size() == 1        ? "every shape"
                              : set.rule.is_in_rows_alone(i) ? "in its rows alone"
                                                             : "where least: " + set.rule.estimates[i].text();
    lines.push_back(fmt::format("{} -> member {}: {}", where, i + 1, point_text(set.members[i].candidate)));
  }
  return lines;
}

std::optional<std::size_t> chosen_member(const Candidate& set, Environment environment) {
  const auto rule =
      std::ranges::find(set.plan.let, std::string(kMemberName), &std::pair<std::string, Expression>::first);
  if (rule == set.plan.let.end()) return 0;
  for (auto let = set.plan.let.begin();; ++let) {
    const Result<std::int64_t> value = let->second.evaluate_integer(environment);
    if (!value) return std::nullopt;
    if (let == rule) return static_cast<std::size_t>(*value - 1);
    environment[let->first] = *value;
  }
}

std::optional<std::size_t> member_named_in(const Candidate& set, std::string_view message,
                                           std::size_t members) {
  std::optional<std::size_t> first;
  std::size_t least = std::string_view::npos;
  for (std::size_t member = 0; member < members; ++member) {
    const std::size_t at = find_name(message, space_of(member + 1) + "::");
    if (at < least) first = member, least = at;
  }
  return first ? first : member_of_line(set, line_named_in(set, message), members);
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
