// SPDX-License-Identifier: Apache-2.0
#include "app/search/fixed_tunables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "core/tuning/plan_space.h"

namespace ak::app {
namespace {

/// "BM=64,128".
std::string fixed_text(const FixedTunables::value_type& one) {
  return fmt::format("{}={}", one.first, fmt::join(one.second, ","));
}

/// "BM == 64 or BM == 128".
Expression restriction(const std::string& name, const std::vector<std::int64_t>& values) {
  std::vector<std::string> cases;
  for (const std::int64_t value : values) cases.push_back(fmt::format("{} == {}", name, value));
  return Expression::parse(fmt::format("{}", fmt::join(cases, " or "))).value();
}

/// Why the candidate has none of the values given; empty where it has one of each.
std::string lacking(const Candidate& candidate, const FixedTunables& fixed) {
  for (const auto& one : fixed) {
    const auto tunable = std::ranges::find(candidate.plan.tunables, one.first, &Tunable::name);
    if (tunable == candidate.plan.tunables.end()) return fmt::format("it has no tunable {}", one.first);
    const auto has = [&](std::int64_t value) {
      return std::ranges::find(tunable->values, value) != tunable->values.end();
    };
    if (std::ranges::none_of(one.second, has))
      return fmt::format("its {} is one of {}, not {}", one.first, fmt::join(tunable->values, ", "),
                         fmt::join(one.second, ","));
  }
  return "";
}

/// Throws where a tunable or a value is none of any candidate.
void check_known(const std::vector<Candidate>& candidates, const FixedTunables& fixed) {
  std::map<std::string, std::set<std::int64_t>> known;
  for (const Candidate& candidate : candidates)
    for (const Tunable& tunable : candidate.plan.tunables)
      known[tunable.name].insert(tunable.values.begin(), tunable.values.end());
  std::vector<std::string> names;
  for (const auto& [name, values] : known) names.push_back(name);
  for (const auto& [name, values] : fixed) {
    if (!known.contains(name))
      fail(ExitCode::usage, "{} tunable '{}'{}; known: {}",
           candidates.size() == 1 ? candidates.front().name + " has no" : "no template has a", name,
           did_you_mean(name, names), fmt::join(names, ", "));
    for (const std::int64_t value : values)
      if (!known[name].contains(value))
        fail(ExitCode::usage, "{} cannot be {}; expected {}", name, value, fmt::join(known[name], ", "));
  }
}

/// Leaves the candidate the points with these values alone, and of those takes the nearest to its own. Returns why
/// there is none; empty: there is one.
std::string fix(Candidate& candidate, const FixedTunables& fixed, Environment environment, const Arch& arch) {
  for (const auto& [name, values] : fixed) candidate.plan.constraints.push_back(restriction(name, values));
  environment["ARCH"] = std::int64_t{arch.number()};
  const auto space = plan_space(candidate.plan, environment);
  if (!space) return has_point(candidate.plan, environment, candidate.tunables) ? "" : space.error().message;
  const auto nearest = nearest_points(*space, candidate.tunables, 1);
  if (nearest.empty()) return "it has no valid point with these values";
  candidate.tunables = nearest.front();
  return "";
}

/// A kernel of the user's without such points is evaluated as it is, to be compared with.
void keep_own_point(Candidate& candidate) {
  for (const auto& [name, value] : candidate.tunables)
    candidate.plan.constraints.push_back(restriction(name, {value}));
}

struct Kept {
  std::vector<Candidate> candidates;
  std::vector<std::string> notes;  ///< of those that have no such point
  bool any = false;                ///< one has
};

Kept kept_of(const std::vector<Candidate>& candidates, std::size_t own, const FixedTunables& fixed,
             const Environment& environment, const Arch& arch) {
  Kept kept;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate candidate = candidates[i];
    std::string reason = lacking(candidate, fixed);
    if (reason.empty()) reason = fix(candidate, fixed, environment, arch);
    if (reason.empty()) {
      kept.candidates.push_back(std::move(candidate));
      kept.any = true;
      continue;
    }
    if (i < own) keep_own_point(kept.candidates.emplace_back(candidates[i]));
    kept.notes.push_back(
        fmt::format("{} {}: {}", candidates[i].name, i < own ? "stays as it is" : "is left out", reason));
  }
  return kept;
}

}  // namespace

void keep_fixed(std::vector<Candidate>& candidates, std::size_t own, const FixedTunables& fixed,
                const Environment& environment, const Arch& arch) {
  check_known(candidates, fixed);
  Kept kept = kept_of(candidates, own, fixed, environment, arch);
  std::vector<std::string> wanted;
  for (const auto& one : fixed) wanted.push_back(fixed_text(one));
  if (!kept.any)
    fail(ExitCode::usage, "no valid point has {}: {}", fmt::join(wanted, " and "),
         fmt::join(kept.notes, "; "));
  for (const std::string& note : kept.notes) print_stderr("note: {}\n", note);
  candidates = std::move(kept.candidates);
}

void parse_fixed(const std::string& text, FixedTunables& fixed) {
  const std::size_t equals = text.find('=');
  std::vector<std::int64_t> values;
  const char* at = text.data() + (equals == std::string::npos ? text.size() : equals);
  const char* end = text.data() + text.size();
  while (at < end) {
    const auto [rest, status] = std::from_chars(at + 1, end, values.emplace_back());
    if (status != std::errc() || (rest < end && *rest != ',')) {
      values.clear();
      break;
    }
    at = rest;
  }
  if (values.empty())
    fail(ExitCode::usage, "--set {}: expected NAME=INTEGER, e.g. BM=128 or BM=64,128", text);
  fixed[text.substr(0, equals)] = std::move(values);
}

}  // namespace ak::app
