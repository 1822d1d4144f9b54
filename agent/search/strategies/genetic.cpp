// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "agent/search/member.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Points of the first generation, and of every later one (chosen for budgets of some hundreds).
constexpr std::size_t kPopulation = 20;

/// A steady-state genetic algorithm: the population is the fastest points known; a child takes every value
/// from one of two parents, and one value per point, on average, mutates.
class Genetic final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    if (history.told().size() < kPopulation) return history.draw_unseen(engine);
    const auto population = history.fastest(kPopulation);
    if (population.size() < 2) return history.draw_unseen(engine);
    const Points& points = history.points();
    const Ordinals first_parent = points.ordinals(parent(population, engine));
    const Ordinals second_parent = points.ordinals(parent(population, engine));
    Ordinals child(first_parent);
    for (std::size_t axis = 0; axis < points.axes(); ++axis) {
      if (draw_below(engine, 2) == 0) child[axis] = second_parent[axis];
      if (draw_below(engine, points.axes()) == 0)
        child[axis] = mutated(child[axis], points.extent(axis), engine);
    }
    return history.snap(engine, child);
  }

 private:
  /// A value close by, or with the same chance any.
  static char16_t mutated(char16_t ordinal, std::size_t extent, Engine& engine) {
    if (draw_below(engine, 2) == 0) return static_cast<char16_t>(draw_below(engine, extent));
    const int step = draw_below(engine, 2) == 0 ? -1 : 1;
    return static_cast<char16_t>(std::clamp(ordinal + step, 0, static_cast<int>(extent) - 1));
  }

  /// Tournament of two.
  static PointNumber parent(const std::vector<Observation>& population, Engine& engine) {
    const auto one = draw_below(engine, population.size()), two = draw_below(engine, population.size());
    return population[std::min(one, two)].point;
  }
};

}  // namespace

const Strategy kGenetic{"genetic", "genetic algorithm", alone<Genetic>};

}  // namespace ak::agent
