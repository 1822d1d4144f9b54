// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "agent/search/builtin.h"
#include "agent/search/strategy.h"

namespace ak::agent {
namespace {

constexpr std::array kStrategies{
    StrategyEntry{"random", "every point once, in a random order", make_random},
    StrategyEntry{"exhaustive", "every point once, in the order of the template", make_exhaustive},
    StrategyEntry{"local-search", "first better neighbour, again from beside the best", make_local_search},
    StrategyEntry{"multi-start", "first better neighbour, again from anywhere", make_multi_start},
    StrategyEntry{"annealing", "simulated annealing", make_annealing},
    StrategyEntry{"genetic", "genetic algorithm", make_genetic},
    StrategyEntry{"differential-evolution", "differential evolution", make_differential_evolution},
    StrategyEntry{"particle-swarm", "particle swarm", make_particle_swarm},
    StrategyEntry{"tabu", "tabu search", make_tabu},
    StrategyEntry{"bayesian", "Bayesian optimisation with a Gaussian process", make_bayesian},
    StrategyEntry{"forest", "expected improvement under randomised trees", make_tree_search},
    StrategyEntry{"portfolio", "bayesian, forest and local-search, by their success", make_portfolio},
};

}  // namespace

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry* find_strategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &StrategyEntry::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

}  // namespace ak::agent
