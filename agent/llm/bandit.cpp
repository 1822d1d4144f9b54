// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/bandit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ak::agent {
namespace {

constexpr double kDiscount = 0.95;     // of what is known, at every pull: about the last 20 count; chosen
constexpr double kExploration = 0.25;  // weight of what is not known; rewards are mostly small; chosen
// A cheap arm counts at most so many times an expensive one: it may reach less.
constexpr double kMaxPerCost = 20;

}  // namespace

std::size_t Bandit::choose(std::span<const std::string> arms) const {
  double total = 0, cheapest = std::numeric_limits<double>::infinity();
  for (const auto& [name, arm] : arms_) {
    total += arm.pulls;
    if (arm.cost > 0) cheapest = std::min(cheapest, arm.cost / arm.pulls);
  }
  std::size_t best = 0;
  double best_value = -1;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto found = arms_.find(arms[i]);
    if (found == arms_.end()) return i;
    const Arm& arm = found->second;
    const double bound =
        arm.reward / arm.pulls + kExploration * std::sqrt(std::log(std::max(total, 1.0)) / arm.pulls);
    const double cost = arm.cost > 0 ? std::clamp(arm.cost / arm.pulls / cheapest, 1.0, kMaxPerCost) : 1;
    if (bound / cost > best_value) best_value = bound / cost, best = i;
  }
  return best;
}

void Bandit::credit(const std::string& name, double reward, double cost) {
  for (auto& [other, arm] : arms_) arm.pulls *= kDiscount, arm.reward *= kDiscount, arm.cost *= kDiscount;
  Arm& arm = arms_[name];
  arm.pulls += 1;
  arm.reward += reward;
  arm.cost += cost;
}

void Bandit::add_reward(const std::string& name, double reward) {
  if (const auto found = arms_.find(name); found != arms_.end()) found->second.reward += reward;
}

}  // namespace ak::agent
