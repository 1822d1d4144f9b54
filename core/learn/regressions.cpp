// SPDX-License-Identifier: Apache-2.0
#include "core/learn/regressions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ak {
namespace {

// Of the standard normal distribution, two-sided.
constexpr double kNormal95 = 1.959964, kNormal99 = 2.575829;
// What an event can tell, over the shortest call that is timed alone (docs/timing.md): an interval without a width does not
// mean that nothing varies.
constexpr double kLeastDeviation = 1e-4;

bool large(const TimeChange& change) { return change.log_ratio > std::log1p(kRegression); }

}  // namespace

TimeChange change_of(double ratio, const Interval& interval, double confidence) {
  const double points = confidence > 0.98 ? kNormal99 : kNormal95;
  const double width = std::log(interval.high) - std::log(interval.low);
  return {.log_ratio = std::log(ratio), .deviation = std::max(kLeastDeviation, width / (2 * points))};
}

TimeChange change_since(const TimeChange& now, const TimeChange& then) {
  return {.log_ratio = now.log_ratio - then.log_ratio,
          .deviation = std::sqrt(now.deviation * now.deviation + then.deviation * then.deviation +
                                 kBetweenRuns * kBetweenRuns)};
}

double p_of_chance(const TimeChange& change) {
  return std::erfc(change.log_ratio / change.deviation / std::sqrt(2.0)) / 2;
}

std::vector<bool> suspects(std::span<const TimeChange> changes) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p_of_chance(changes[i]); });
  std::vector<bool> found(changes.size(), false);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const TimeChange& change = changes[order[rank]];
    if (p_of_chance(change) > kFalseAlarms / static_cast<double>(changes.size() - rank)) break;
    found[order[rank]] = large(change);
  }
  return found;
}

bool confirms(const TimeChange& repeated) { return large(repeated) && p_of_chance(repeated) <= kFalseAlarms; }

}  // namespace ak
