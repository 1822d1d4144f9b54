// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/sampling.h"

#include <numeric>

#include "core/learn/stats.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kScreeningSamples = 5;  // docs/timing.md: enough to notice a factor of two
constexpr double kTooSlowFactor = 2.0;
// A lower end of the median's interval this far above the incumbent leaves no chance of leading (chosen).
constexpr double kClearlySlower = 1.3;
constexpr double kPatienceMs = 2'000;  // for the minimum number of samples of very slow kernels

}  // namespace

Sampling decide(std::span<const double> samples_ns, const TimingBudget& budget,
                std::optional<double> champion_score_ns) {
  if (samples_ns.empty()) return Sampling::go_on;
  const double middle = median(samples_ns);
  const double spent_ms = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0) / 1e6;
  if (champion_score_ns && samples_ns.size() >= kScreeningSamples) {
    const double low = median_interval_95(samples_ns).low;
    if (middle > kTooSlowFactor * *champion_score_ns || low > kClearlySlower * *champion_score_ns)
      return Sampling::permanent;
  }
  if (spent_ms >= kPatienceMs) return Sampling::exhausted;
  if (samples_ns.size() < static_cast<std::size_t>(budget.minimum_samples)) return Sampling::go_on;
  const Interval interval = median_interval_95(samples_ns);
  if ((interval.high - interval.low) / 2 <= budget.relative_error * middle) return Sampling::converged;
  const bool spent =
      spent_ms >= budget.gpu_ms || samples_ns.size() >= static_cast<std::size_t>(budget.maximum_samples);
  return spent ? Sampling::exhausted : Sampling::go_on;
}

}  // namespace ak::runtime
