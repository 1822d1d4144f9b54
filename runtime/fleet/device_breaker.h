// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "core/pool.h"

namespace ak::runtime {

/// The circuit breaker of one device of a pool: a device that loses worker after worker, or whose calibration drifts,
/// rests, longer each time, and is then tried with one task. A verdict closes it. One thread.
class DeviceBreaker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Losses in a row after which it opens: a program that takes its worker down is sent to another device at the
  /// second, and is to blame rather than the device.
  static constexpr int kTolerated = 3;
  /// The first rest, doubled by every further loss up to the longest: a driver that resets a GPU is back within
  /// minutes (chosen).
  static constexpr std::chrono::seconds kFirstRest{1}, kLongestRest{300};

  explicit DeviceBreaker(std::chrono::seconds longest_rest = kLongestRest) : longest_rest_(longest_rest) {}

  /// A task was answered.
  void note_answer() { losses_ = 0; }
  /// The worker was lost, or did not start. True when the device rests from now on.
  bool note_loss(TimePoint now);
  /// The next loss opens it.
  void distrust() { losses_ = std::max(losses_, kTolerated - 1); }
  /// What is there now is of no use, and something else may be there later: as a loss that was one too many.
  void rest(TimePoint now);
  /// Open while it rests, or has left; half open from a rest on until the next answer.
  [[nodiscard]] BreakerState state(TimePoint now) const {
    if (left_) return BreakerState::open;
    if (losses_ < kTolerated) return BreakerState::closed;
    return now < rests_until_ ? BreakerState::open : BreakerState::half_open;
  }
  /// It takes no part in this pool any more.
  void leave() { left_ = true; }

  /// Closed, or half open.
  [[nodiscard]] bool lets_pass(TimePoint now) const { return !left_ && now >= rests_until_; }
  [[nodiscard]] bool has_left() const { return left_; }
  /// When it may be tried again; in the past: now.
  [[nodiscard]] TimePoint rests_until() const { return rests_until_; }

 private:
  std::chrono::seconds longest_rest_;
  int losses_ = 0;  ///< since the last answer
  TimePoint rests_until_{};
  bool left_ = false;
};

}  // namespace ak::runtime
