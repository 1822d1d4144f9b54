// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ak::app {

/// A kernel against a baseline on one shape, or on all of a task: with the ends of a 95 % interval where it was timed in
/// turns (docs/timing.md).
struct BoardSpeedup {
  double speedup = 0, weight = 1;
  std::optional<double> low, high;
};

/// Of the shapes of a task: the weighted geometric mean. The half widths of the intervals add as squares on a logarithmic
/// scale, as in reports (docs/report.md); without one of them there is none. Nothing of no shapes.
[[nodiscard]] std::optional<BoardSpeedup> mean_speedup(std::span<const BoardSpeedup> shapes);

/// What fast_p asks of a task.
struct JudgedTask {
  bool correct = false;
  std::optional<BoardSpeedup> speedup;  ///< nothing: correct alone
};

/// The levels that public boards report.
inline constexpr std::array kFastLevels{0.0, 0.8, 1.0, 1.5, 2.0};

/// The share of all tasks that are correct and at least p times as fast as the baseline; `least` and `most` count those
/// that are so at the lower, and at the upper end of their intervals. p = 0 asks for correctness alone.
struct FastShare {
  double p = 0;
  std::size_t tasks = 0, fast = 0, least = 0, most = 0;

  [[nodiscard]] double share() const {
    return tasks == 0 ? 0 : static_cast<double>(fast) / static_cast<double>(tasks);
  }
};
[[nodiscard]] FastShare fast_share(std::span<const JudgedTask> tasks, double p);

}  // namespace ak::app
