// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/time_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "codegen/emit/finished_plan.h"

namespace ak::codegen {
namespace {

// Factors are whole picoseconds: of a byte or an operation they would round to nothing.
constexpr int kUnit = 1024;

/// "(M) * (N)"
std::string product_of(const std::vector<Expression>& factors) {
  std::vector<std::string> texts;
  for (const Expression& one : factors) texts.push_back(fmt::format("({})", one.text()));
  return fmt::format("{}", fmt::join(texts, " * "));
}

class DefaultTerms {
 public:
  explicit DefaultTerms(const ProblemInstance& problem) : problem_(problem) {
    add("1");
    if (has_value(problem.bytes_read) && has_value(problem.bytes_written))
      add(fmt::format("(({}) + ({})) // {}", problem.bytes_read.text(), problem.bytes_written.text(), kUnit));
  }

  /// So many blocks on every SM, and what each of these has to compute.
  void add_launch(const LaunchPlanEntry& launch) {
    if (launch.loop) return;  // its grid may follow from the variable
    const std::string blocks = product_of(launch.grid), waves = fmt::format("ceil_div({}, SM_COUNT)", blocks);
    const auto where_launched = [&](const std::string& text) {
      return launch.when ? fmt::format("{} if {} else 0", text, launch.when->text()) : text;
    };
    if (launch.when) add(where_launched("1"));
    add(where_launched(waves));
    if (has_value(problem_.flops))
      add(where_launched(
          fmt::format("{} * (({}) // ({} * {}))", waves, problem_.flops.text(), kUnit, blocks)));
  }

  [[nodiscard]] std::vector<Expression> take() { return std::move(terms_); }

 private:
  /// Sums over drawn lengths are known of no shape.
  [[nodiscard]] bool has_value(const Expression& formula) const {
    const Environment known = problem_.environment({});
    return std::ranges::all_of(formula.names(), [&](const std::string& name) {
      return known.contains(name) ||
             std::ranges::find(problem_.definition.axes, name, &Axis::name) != problem_.definition.axes.end();
    });
  }

  /// One that is too long is left out.
  void add(const std::string& text) {
    if (const Result<Expression> term = Expression::parse(text)) terms_.push_back(*term);
  }

  const ProblemInstance& problem_;
  std::vector<Expression> terms_;
};

}  // namespace

std::vector<Expression> time_terms(const ProblemInstance& problem, const Candidate& candidate) {
  const LaunchPlan plan = finished_plan(problem, candidate);
  if (!plan.time_terms.empty()) return plan.time_terms;
  DefaultTerms terms(problem);
  for (const LaunchPlanEntry& launch : plan.launches) terms.add_launch(launch);
  return terms.take();
}

std::optional<std::vector<std::int64_t>> amounts_of(const std::vector<Expression>& terms,
                                                    const Candidate& candidate, Environment environment) {
  for (const auto& [name, value] : candidate.tunables) environment[name] = value;
  for (const auto& [name, expression] : candidate.plan.let) {
    const Result<Value> value = expression.evaluate(environment);
    if (!value) return std::nullopt;
    environment[name] = *value;
  }
  std::vector<std::int64_t> amounts;
  for (const Expression& term : terms) {
    const Result<std::int64_t> amount = term.evaluate_integer(environment);
    if (!amount || *amount < 0) return std::nullopt;
    amounts.push_back(*amount);
  }
  return amounts;
}

}  // namespace ak::codegen
