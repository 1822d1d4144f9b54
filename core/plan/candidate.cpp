// SPDX-License-Identifier: Apache-2.0
#include "core/plan/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/device_headers.h"
#include "core/plan/plan_text.h"
#include "core/text/hash.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak {
namespace {

constexpr std::string_view kOpening = "/*";
constexpr std::string_view kMarker = "alphakernel";
// Reading a plan takes stack in proportion to its depth and time in proportion to the square of its size, so
// a hostile one is refused first. The plans of the templates have about 1 KiB and five levels.
constexpr std::size_t kMaxPlanBytes = 256u << 10;
constexpr int kMaxPlanDepth = 32;

/// Place of the plan's JSON in a candidate file.
struct PlanSpan {
  std::size_t begin = 0, end = 0;  ///< bytes between the marker and "*/"
  int first_line = 1;              ///< line of `begin`
};

int line_of(std::string_view text, std::size_t offset) {
  return 1 +
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

Result<PlanSpan> find_plan(std::string_view source) {
  const InputError missing{
      "expected the file to begin with /* alphakernel { ...launch plan... } */ (docs/candidate.md; "
      "alphakernel problem new writes one)",
      1};
  std::size_t at = source.rfind("\xEF\xBB\xBF", 0) == 0 ? 3 : 0;  // a byte order mark some editors write
  at = source.find_first_not_of(" \t\r\n", at);
  if (at == std::string_view::npos || source.substr(at, 2) != kOpening) return missing;
  const std::size_t word = source.find_first_not_of(" \t\r\n*", at + 2);
  if (word == std::string_view::npos || source.substr(word, kMarker.size()) != kMarker) return missing;
  const std::size_t begin = word + kMarker.size();
  const std::size_t end = source.find("*/", begin);
  if (end == std::string_view::npos)
    return InputError{"the comment with the launch plan is not closed by */", line_of(source, at)};
  return PlanSpan{begin, end, line_of(source, begin)};
}

std::string not_json(const Json::exception& error) {
  // The library's message starts with its own id and position; ours gives the line of the file.
  std::string reason = error.what();
  if (const std::size_t colon = reason.find(": "); colon != std::string::npos)
    reason = reason.substr(colon + 2);
  return fmt::format("the launch plan is not JSON: {}", sanitize(reason));
}

/// A plan in which no object has a key twice.
Result<Json> checked_keys(Json plan, std::string_view text, const PlanSpan& span) {
  const auto repeated = find_repeated_key(text);
  if (!repeated) return plan;
  return InputError{fmt::format("the launch plan has the key '{}' twice in one object, first in line {}",
                                repeated->key, span.first_line - 1 + repeated->first_line),
                    span.first_line - 1 + repeated->line};
}

Result<Json> parse_plan_json(std::string_view source, const PlanSpan& span) {
  const std::string_view text = source.substr(span.begin, span.end - span.begin);
  if (text.size() > kMaxPlanBytes) {
    return InputError{
        fmt::format("the launch plan has {} bytes, at most {} are accepted", text.size(), kMaxPlanBytes),
        span.first_line};
  }
  bool too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, const Json&) {
    too_deep = too_deep || depth > kMaxPlanDepth;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, keep);
    if (!too_deep) return checked_keys(std::move(json), text, span);
    return InputError{fmt::format("the launch plan is nested more than {} levels deep", kMaxPlanDepth),
                      span.first_line};
  } catch (const Json::parse_error& error) {
    const std::size_t offset = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    return InputError{not_json(error), line_of(source, span.begin + offset)};
  } catch (const Json::exception& error) {  // a number that no double can hold
    return InputError{not_json(error), span.first_line};
  }
}

TunableValues starting_values(const LaunchPlan& plan) {
  TunableValues values;
  for (const Tunable& tunable : plan.tunables) {
    const auto frozen = plan.frozen.find(tunable.name);
    values[tunable.name] = frozen != plan.frozen.end() ? frozen->second : tunable.default_value;
  }
  return values;
}

/// A constraint that cannot be evaluated (say, a division by zero) rules its points out, as resolve() would.
bool holds(const Expression& constraint, const Environment& environment) {
  const Result<bool> value = constraint.evaluate_bool(environment);
  return value.ok() && *value;
}

bool all_known(const Expression& expression, const Environment& environment) {
  return std::ranges::all_of(expression.names(),
                             [&](const std::string& name) { return environment.contains(name); });
}

}  // namespace

std::string Candidate::self_contained() const { return with_device_headers(source, headers); }

bool Candidate::asks_for_multiprocessors() const {
  const std::string text = source + headers;
  return text.find("SM_COUNT") != std::string::npos || text.find("nsmid") != std::string::npos;
}

std::string Candidate::source_hash() const { return sha256_hex(source + headers); }

std::string Candidate::variant_hash() const {
  std::string key = source + headers;
  for (const auto& [tunable, value] : tunables) key += fmt::format("\n{}={}", tunable, value);
  return sha256_hex(key);
}

Result<Candidate> parse_candidate(std::string name, std::string_view source) {
  if (source.find_first_not_of(" \t\r\n") == std::string_view::npos) return InputError{"the file is empty"};
  if (source.size() > kMaxCandidateBytes) {
    return InputError{
        fmt::format("the file has {} bytes, at most {} are accepted", source.size(), kMaxCandidateBytes)};
  }
  if (const std::size_t nul = source.find('\0'); nul != std::string_view::npos) {
    return InputError{"the file is binary (it has a NUL byte); CUDA C++ source was expected",
                      line_of(source, nul)};
  }
  const Result<PlanSpan> span = find_plan(source);
  if (!span) return span.error();
  const Result<Json> json = parse_plan_json(source, *span);
  if (!json) return json.error();
  Result<LaunchPlan> plan = launch_plan_from_json(*json);
  if (!plan) return InputError{fmt::format("launch plan: {}", plan.error().message), span->first_line};
  TunableValues values = starting_values(*plan);
  return Candidate{std::move(name), std::string(source), std::move(plan).value(), std::move(values),
                   device_header_text(source)};
}

std::string with_plan(std::string_view source, const LaunchPlan& plan) {
  const Result<PlanSpan> span = find_plan(source);
  AK_ASSERT(span.ok(), "only a parsed candidate gets another plan");
  // The plan must not close the comment that holds it: "*/" becomes the same JSON with an escaped slash.
  std::string json = plan_text(plan);
  for (std::size_t at = json.find("*/"); at != std::string::npos; at = json.find("*/", at))
    json.replace(at, 2, "*\\/");
  return fmt::format("{}\n{}\n{}", source.substr(0, span->begin), json, source.substr(span->end));
}

std::vector<std::string> broken_constraints(const LaunchPlan& plan, Environment environment,
                                            const TunableValues& tunables) {
  for (const auto& [name, value] : tunables) environment[name] = value;
  for (const auto& [name, expression] : plan.let) {
    if (!all_known(expression, environment)) continue;
    if (const auto value = expression.evaluate(environment)) environment[name] = *value;
  }
  std::vector<std::string> broken;
  for (const Expression& constraint : plan.constraints) {
    if (all_known(constraint, environment) && !holds(constraint, environment))
      broken.push_back(constraint.text());
  }
  return broken;
}

bool has_point(const LaunchPlan& plan, const Environment& environment, const TunableValues& tunables) {
  const bool values = std::ranges::all_of(plan.tunables, [&](const Tunable& tunable) {
    const auto value = tunables.find(tunable.name);
    return value != tunables.end() &&
           std::ranges::find(tunable.values, value->second) != tunable.values.end();
  });
  return values && tunables.size() == plan.tunables.size() &&
         broken_constraints(plan, environment, tunables).empty();
}

}  // namespace ak
