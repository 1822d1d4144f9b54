// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ak::app {

/// How the time that is left for a set is divided: searches have a quarter of it, measuring the starts of templates ends at
/// the half, drawn shapes have half of what is left then, and members are checked in the rest. What every set needs takes its
/// time all the same. Chosen, so that no step takes what those after it need: without this a set of eight shapes took 338 s
/// of 92 (experiments/results/2026-11-28_h200_library_time).
class SetTime {
 public:
  using Milliseconds = std::chrono::milliseconds;

  static constexpr double kStartsEnd = 0.5;
  /// Compiling a member, choosing its shapes and checking it there: the checks of five of six took 0.8 to 2.4 s, and the compiler
  /// 6.4 s for all (experiments/results/2026-11-29_h200_set_in_time). That of the one with the largest shapes took 40 s, when a
  /// thread of the reference had one result.
  static constexpr Milliseconds kOfMember{3'000};
  /// However little time is left, that a few shapes may have kernels of their own (chosen).
  static constexpr std::size_t kFewMembers = 4;

  /// @param whole no limit: any time; @param spent_before of it, by whom this one goes on for
  SetTime(std::optional<Milliseconds> whole, Milliseconds spent_before)
      : whole_(whole ? std::optional(std::max(Milliseconds(0), *whole - spent_before)) : std::nullopt),
        began_(Clock::now()) {}

  /// Whether less than that part of the time is over.
  [[nodiscard]] bool is_before(double part) const {
    if (!whole_) return true;
    const double end_ms = part * static_cast<double>(whole_->count());
    return static_cast<double>(spent().count()) < end_ms;
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
    return std::chrono::duration_cast<Milliseconds>(Clock::now() - began_);
  }

  std::optional<Milliseconds> whole_;
  Clock::time_point began_;
};

}  // namespace ak::app
