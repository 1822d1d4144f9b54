// SPDX-License-Identifier: Apache-2.0
#include "app/search/starting_points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "codegen/source/reference_types.h"
#include "core/device/device_facts.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

Candidate read_candidate(const std::string& name, const std::string& source) {
  Result<Candidate> candidate = parse_candidate(name, source);
  if (!candidate) {
    const InputError& input_error = candidate.error();
    fail(ExitCode::bad_input, "{}{}: {}", name,
         input_error.line > 0 ? fmt::format(":{}", input_error.line) : "", input_error.message);
  }
  return std::move(candidate).value();
}

/// A constraint with a name that nothing defines would rule out every point, but only when each is launched.
void check_constraint_names(const Candidate& candidate, const ProblemInstance& problem) {
  const LaunchPlan& plan = candidate.plan;
  std::vector<std::string> names;
  for (const auto& [name, value] : problem.environment({})) names.push_back(name);
  for (const auto& [name, value] : device_environment({}, {})) names.push_back(name);
  for (const Axis& axis : problem.definition.axes) names.push_back(axis.name);
  for (const Tunable& tunable : plan.tunables) names.push_back(tunable.name);
  for (const auto& [name, value] : plan.let) names.push_back(name);
  for (const Expression& constraint : plan.constraints) {
    for (const std::string& name : constraint.names()) {
      if (std::ranges::find(names, name) != names.end()) continue;
      fail(
          ExitCode::bad_input,
          "{}: the constraint '{}' names '{}', which is not a tunable, parameter, axis or 'let'{}; known: {}",
          candidate.name, constraint.text(), name, did_you_mean(name, names), fmt::join(names, ", "));
    }
  }
}

void keep_only(std::vector<Candidate>& candidates, const ProblemInstance& problem, const std::string& only) {
  std::vector<std::string> names;
  for (const CandidateFile& file : problem.templates) names.push_back(file.name);
  if (std::ranges::find(names, only) == names.end()) {
    fail(ExitCode::usage, "{} has no template '{}'{}; known: {}", problem.problem, only,
         did_you_mean(only, names), fmt::join(names, ", "));
  }
  std::erase_if(candidates, [&](const Candidate& c) { return c.name != problem.problem + "/" + only; });
}

}  // namespace

std::vector<Candidate> starting_points(const ProblemInstance& problem, const Arch& arch,
                                       const std::vector<Candidate>& own, const std::string& only,
                                       const FixedTunables& fixed) {
  std::vector<Candidate> candidates;
  for (const CandidateFile& file : problem.templates) {
    // `problem new` keeps the kernel it was made from in the folder: not twice.
    if (!own.empty() && file.source == own.front().source) continue;
    candidates.push_back(read_candidate(problem.problem + "/" + file.name, file.source));
  }
  if (!only.empty()) keep_only(candidates, problem, only);
  candidates.insert(candidates.begin(), own.begin(), own.end());
  if (candidates.empty() && !problem.reference_cu.empty())
    candidates.push_back(read_candidate(problem.problem + "/reference.cu", codegen::twin_as_kernel(problem)));
  if (candidates.empty()) {
    fail(ExitCode::bad_input, "{} has no kernel template to search; give one with --start FILE.cu",
         problem.folder.string());
  }
  if (fixed.empty()) return candidates;
  keep_fixed(candidates, own.size(), fixed, problem.environment({}), arch);
  return candidates;
}

std::vector<Candidate> file_to_tune(Candidate candidate, const ProblemInstance& problem, const Arch& arch,
                                    const FixedTunables& fixed) {
  check_constraint_names(candidate, problem);
  std::vector<Candidate> alone{std::move(candidate)};
  if (!fixed.empty()) keep_fixed(alone, 0, fixed, problem.environment({}), arch);
  return alone;
}

}  // namespace ak::app
