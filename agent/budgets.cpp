// SPDX-License-Identifier: Apache-2.0
#include "agent/budgets.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ak::agent {
namespace {

struct BudgetRow {
  std::string_view reason;  ///< stored in the database; never renamed
  bool (*reached)(const Budgets&, const Spent&);
};

constexpr std::array kBudgets{
    BudgetRow{"target reached",
              [](const Budgets& b, const Spent& s) {
                return b.target_ns && s.best_ns && *s.best_ns <= *b.target_ns;
              }},
    BudgetRow{"evaluation budget",
              [](const Budgets& b, const Spent& s) {
                return b.max_evaluations && s.evaluations >= *b.max_evaluations;
              }},
    BudgetRow{"compilation budget",
              [](const Budgets& b, const Spent& s) {
                return b.max_compilations && s.compilations >= *b.max_compilations;
              }},
    BudgetRow{"no progress",
              [](const Budgets& b, const Spent& s) {
                return b.patience && s.best_ns && s.since_gain >= *b.patience;
              }},
    BudgetRow{
        "little left to gain",
        [](const Budgets& b, const Spent& s) { return b.least_gain && s.gain && *s.gain <= *b.least_gain; }},
    BudgetRow{"at the limit",
              [](const Budgets& b, const Spent& s) {
                return b.least_headroom && s.headroom && *s.headroom <= *b.least_headroom;
              }},
    BudgetRow{"token budget",
              [](const Budgets& b, const Spent& s) {
                return b.max_tokens && s.tokens > 0 && s.tokens >= *b.max_tokens;
              }},
    BudgetRow{"cost budget",
              [](const Budgets& b, const Spent& s) {
                return b.max_cost_usd && s.cost_usd > 0 && s.cost_usd >= *b.max_cost_usd;
              }},
    BudgetRow{"wall time budget",
              [](const Budgets& b, const Spent& s) { return b.max_wall && s.wall >= *b.max_wall; }},
};

}  // namespace

void account(Spent& spent, const EvaluationResult& result) {
  ++spent.evaluations;
  if (result.build && !result.build->cache_hit) ++spent.compilations;
}

std::optional<std::string_view> budget_reached(const Budgets& budgets, const Spent& spent) {
  for (const BudgetRow& row : kBudgets)
    if (row.reached(budgets, spent)) return row.reason;
  return std::nullopt;
}

std::int64_t room_in_flight(const Budgets& budgets, const Spent& spent) {
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  return std::min(budgets.max_evaluations.value_or(kNoLimit) - spent.evaluations,
                  budgets.max_compilations.value_or(kNoLimit) - spent.compilations);
}

}  // namespace ak::agent
