// SPDX-License-Identifier: Apache-2.0
#include "agent/search/clocked_replay.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ak::agent {
namespace {

/// Builds in flight that the GPU does not wait for: twice as many as the means so far ask for, because
/// they differ. More would only be proposed with less known.
std::size_t useful_builds(const ReplaySpace::Spent& spent, std::size_t workers) {
  const double builds = std::ceil(2 * spent.compile_s / spent.benchmark_s);
  return builds < static_cast<double>(workers) ? std::max<std::size_t>(1, static_cast<std::size_t>(builds))
                                               : workers;
}

}  // namespace

ClockTime clocked_replay(const ReplaySpace& space, const Strategy& entry, std::uint64_t seed,
                         std::size_t budget, double target, std::size_t compile_workers,
                         const EarlierSearches& earlier) {
  const auto strategy = entry.make(space.search_space(), seed, earlier);
  std::vector<double> worker_free_s(compile_workers, 0.0);
  std::multimap<double, TunableValues> on_their_way;  // by the time at which they are built
  ClockTime clock;
  double gpu_free_s = 0;
  ReplaySpace::Spent answered;
  for (std::size_t asked = 0; !clock.reached;) {
    const std::size_t builds = clock.spent_s > 0 ? useful_builds(answered, compile_workers) : compile_workers;
    for (; asked < budget && on_their_way.size() <= builds; ++asked) {
      const auto point = strategy->ask();
      if (!point) break;
      double& worker_s = *std::ranges::min_element(worker_free_s);
      worker_s = std::max(worker_s, clock.spent_s) + space.spent(*point).compile_s;
      on_their_way.emplace(worker_s, *point);
    }
    if (on_their_way.empty()) break;
    const auto [built_s, point] = *on_their_way.begin();
    on_their_way.erase(on_their_way.begin());
    const auto [compile_s, benchmark_s] = space.spent(point);
    answered.compile_s += compile_s;
    answered.benchmark_s += benchmark_s;
    gpu_free_s = std::max(gpu_free_s, built_s) + benchmark_s;
    clock.spent_s = gpu_free_s;
    const std::optional<double> time_ns = space.time_ns(point);
    strategy->tell(point, time_ns);
    clock.reached = time_ns && space.best_ns() / *time_ns >= target;
  }
  return clock;
}

}  // namespace ak::agent
