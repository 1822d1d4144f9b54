// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ak::app {

/// How the time that a set may take is divided: searches have a quarter of it, measuring points on shapes asked for ends at
/// the half, on drawn ones at three quarters, and members are checked in the last. What cannot be had in less, such as a
/// first member, takes its time all the same. Chosen, so that no step takes what those after it need: without this a set
/// of eight shapes took 340 s of 90 (experiments/results/2026-11-28_h200_library_time).
class SetTime {
 public:
  using Milliseconds = std::chrono::milliseconds;

  static constexpr double kPointsEnd = 0.5;
  /// Compiling a member, choosing its shapes and checking it there: 28 took 151 s, 12 of another set 137 s (as there).
  static constexpr Milliseconds kOfMember{5'000};
  /// However little time is left, that a few shapes may have kernels of their own (chosen).
  static constexpr std::size_t kFewMembers = 4;

  /// @param whole no limit: any time
  SetTime(std::optional<Milliseconds> whole, Milliseconds spent_before)
      : whole_(whole), spent_before_(spent_before), began_(Clock::now()) {}

  /// Whether less than that part of the time is over.
  [[nodiscard]] bool is_before(double part) const {
    return !whole_ ||
           spent() < Milliseconds(static_cast<std::int64_t>(part * static_cast<double>(whole_->count())));
  }
  /// Not below 0; nothing without a limit.
  [[nodiscard]] std::optional<Milliseconds> left() const {
    if (!whole_) return std::nullopt;
    return std::max(Milliseconds(0), *whole_ - spent());
  }
  /// As many as can be checked in what is left.
  [[nodiscard]] std::size_t most_members(std::size_t most) const {
    if (!whole_) return most;
    return std::clamp(static_cast<std::size_t>(*left() / kOfMember), std::min(kFewMembers, most), most);
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Milliseconds spent() const {
    return spent_before_ + std::chrono::duration_cast<Milliseconds>(Clock::now() - began_);
  }

  std::optional<Milliseconds> whole_;
  Milliseconds spent_before_;
  Clock::time_point began_;
};

}  // namespace ak::app
