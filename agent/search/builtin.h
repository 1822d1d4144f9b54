// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "agent/search/strategy.h"

namespace ak::agent {

// One function per strategy; strategies.cpp lists them.
[[nodiscard]] std::unique_ptr<SearchStrategy> make_random(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_exhaustive(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_local_search(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_multi_start(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_annealing(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_genetic(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_differential_evolution(SearchSpace space,
                                                                          std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_particle_swarm(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_tabu(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_bayesian(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_tree_search(SearchSpace space, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<SearchStrategy> make_portfolio(SearchSpace space, std::uint64_t seed);

}  // namespace ak::agent
