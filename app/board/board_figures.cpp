// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_figures.h"

#include <algorithm>
#include <cmath>

namespace ak::app {

std::optional<BoardSpeedup> mean_speedup(std::span<const BoardSpeedup> shapes) {
  double weights = 0, logs = 0, squares = 0;
  bool intervals = !shapes.empty();
  for (const BoardSpeedup& shape : shapes) {
    weights += shape.weight;
    logs += shape.weight * std::log(shape.speedup);
    intervals = intervals && shape.low && shape.high;
    if (!intervals) continue;
    const double half = shape.weight * 0.5 * (std::log(*shape.high) - std::log(*shape.low));
    squares += half * half;
  }
  if (weights <= 0) return std::nullopt;
  const double mean = logs / weights, half = std::sqrt(squares) / weights;
  BoardSpeedup all{.speedup = std::exp(mean), .weight = weights, .low = {}, .high = {}};
  if (intervals) {
    all.low = std::exp(mean - half);
    all.high = std::exp(mean + half);
  }
  return all;
}

FastShare fast_share(std::span<const JudgedTask> tasks, double p) {
  FastShare share{.p = p, .tasks = tasks.size()};
  for (const JudgedTask& task : tasks) {
    if (!task.correct) continue;
    const auto reaches = [&](const std::optional<double>& speedup) {
      return p <= 0 || (speedup && *speedup >= p);
    };
    const bool known = task.speedup.has_value();
    const auto speedup = known ? std::optional(task.speedup->speedup) : std::nullopt;
    share.fast += reaches(speedup);
    share.least += reaches(known && task.speedup->low ? task.speedup->low : speedup);
    share.most += reaches(known && task.speedup->high ? task.speedup->high : speedup);
  }
  return share;
}

}  // namespace ak::app
