// SPDX-License-Identifier: Apache-2.0
#include "agent/search/clocked_replay.h"

#include <algorithm>
#include <map>

namespace ak::agent {

ClockTime clocked_replay(const ReplaySpace& space, const StrategyEntry& entry, std::uint64_t seed,
                         std::size_t budget, double target, std::size_t compile_workers) {
  const auto strategy = entry.make(space.search_space(), seed);
  std::vector<double> worker_free_s(compile_workers, 0.0);
  std::multimap<double, TunableValues> on_their_way;  // by the time at which they are built
  ClockTime clock;
  double gpu_free_s = 0;
  for (std::size_t asked = 0; !clock.reached;) {
    for (; asked < budget && on_their_way.size() <= compile_workers; ++asked) {
      const auto point = strategy->ask();
      if (!point) break;
      double& worker_s = *std::ranges::min_element(worker_free_s);
      worker_s = std::max(worker_s, clock.spent_s) + space.spent(*point).compile_s;
      on_their_way.emplace(worker_s, *point);
    }
    if (on_their_way.empty()) break;
    const auto [built_s, point] = *on_their_way.begin();
    on_their_way.erase(on_their_way.begin());
    gpu_free_s = std::max(gpu_free_s, built_s) + space.spent(point).benchmark_s;
    clock.spent_s = gpu_free_s;
    const std::optional<double> time_ns = space.time_ns(point);
    strategy->tell(point, time_ns);
    clock.reached = time_ns && space.best_ns() / *time_ns >= target;
  }
  return clock;
}

}  // namespace ak::agent
