// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "runtime/evaluator/device_answers.h"

namespace ak::runtime {

/// How long another process that uses the GPU may be waited for in one task, in all. Two searches on one GPU take turns
/// of seconds; what waits longer is not believed (chosen).
inline constexpr std::chrono::minutes kLongestWait{30};

/// What the worker of a device task does, and how long: it may not be silent for longer than it announced, and
/// the task as a whole ends at its deadline. While the worker waits for other processes the task's time does
/// not run, for as long as the task allows: nothing that a worker says gives it more. Without a task it never runs
/// out. One thread.
class DeviceTaskClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// @param watched something watches the worker's kernels: it may be silent for longer than it announces
  explicit DeviceTaskClock(bool watched) : watched_(watched) {}

  /// A task begins. @param opening the worker opens its problem first
  /// @param longest_wait for other processes, in all; zero where there is nothing to wait for
  void begin(TimePoint now, TimePoint deadline, bool opening,
             std::chrono::steady_clock::duration longest_wait = kLongestWait);
  /// The problem is open, and the task itself begins.
  void note_opened(TimePoint now);
  /// Takes what a `progress` message says.
  void note_progress(const DeviceProgress& progress, TimePoint now);
  /// The task has ended.
  void stop() { watchdog_ = deadline_ = TimePoint::max(); }

  [[nodiscard]] bool silent_too_long(TimePoint now) const { return now >= watchdog_; }
  [[nodiscard]] bool past_deadline(TimePoint now) const { return now >= deadline_; }
  /// When one of the two may be true.
  [[nodiscard]] TimePoint wake_up() const { return std::min(watchdog_, deadline_); }

  [[nodiscard]] bool in_candidate() const { return activity_ == "candidate"; }
  [[nodiscard]] bool waiting() const { return waiting_since_.has_value(); }
  [[nodiscard]] bool opening() const { return activity_ == "open"; }
  [[nodiscard]] const std::string& activity() const { return activity_; }
  [[nodiscard]] const std::string& what() const { return what_; }  ///< the same in words
  [[nodiscard]] double limit_ms() const { return limit_ms_; }      ///< for which it may be silent
  [[nodiscard]] double elapsed_ms(TimePoint now) const;            ///< since the task began

 private:
  void suspend(TimePoint now);
  void resume(TimePoint now);

  bool watched_;
  std::string activity_, what_;
  double limit_ms_ = 0;
  TimePoint started_, watchdog_ = TimePoint::max(), deadline_ = TimePoint::max();
  TimePoint::duration wait_left_{};  ///< of what the task allows
  std::optional<TimePoint>
      waiting_since_;  ///< set while the worker waits; deadline_ is then later by wait_left_
  TimePoint next_notice_;
};

}  // namespace ak::runtime
