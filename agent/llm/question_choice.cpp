// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/question_choice.h"

#include <algorithm>

#include "core/error.h"

namespace ak::agent {
namespace {

constexpr std::size_t kMinSpace = 16;  // points of a template: fewer are soon tried all

std::size_t product_of_values(const LaunchPlan& plan) {
  std::size_t product = 1;
  for (const Tunable& tunable : plan.tunables)
    product = std::min<std::size_t>(product * std::max<std::size_t>(tunable.values.size(), 1), 1'000'000);
  return product;
}

}  // namespace

/// The fastest source with a space of which no points were asked for yet.
const Attempt* QuestionChoice::unexplored() const {
  if (!options_.ask_points) return nullptr;
  for (const Attempt* elite : archive_.elites()) {
    if (!points_asked_.contains(elite->candidate.source) &&
        product_of_values(elite->candidate.plan) >= kMinSpace)
      return elite;
  }
  return nullptr;
}

QuestionChoice::Plan QuestionChoice::choose(const std::vector<std::size_t>& free) {
  AK_ASSERT(!free.empty(), "a question is put to a model that is free");
  const Archive::Turn turn = archive_.next_turn();
  const Attempt* space = unexplored();
  std::vector<std::string> arms{turn.forced};
  if (turn.forced.empty()) {
    arms = archive_.arms(turn.island);
    if (space != nullptr) arms.insert(arms.begin(), "points");
    if (arms.empty()) arms = {"fresh"};
  }
  std::vector<std::string> keys;
  for (const std::size_t model : free)
    for (const std::string& arm : arms) keys.push_back(options_.models[model].name + " " + arm);
  const std::size_t chosen = bandit_.choose(keys);
  const std::string& arm = arms[chosen % arms.size()];
  Plan plan{.model = free[chosen / arms.size()], .credited = keys[chosen], .choice = {}};
  if (arm == "points") {
    points_asked_.insert(space->candidate.source);
    plan.choice = {.arm = arm, .island = space->island, .parent = space};
  } else {
    plan.choice = archive_.choose(arm, turn.island);
  }
  return plan;
}

}  // namespace ak::agent
