// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/learn/stats.h"

namespace ak {

/// What a kernel has to lose before it is named (docs/kernel_library.md#checking-a-library).
inline constexpr double kRegression = 0.02;
/// Chance that a check of a library in which nothing changed names a member at all.
inline constexpr double kFalseAlarms = 0.01;

/// A time over what it was, or over what it is compared with, as its logarithm: above 0 it is slower.
struct TimeChange {
  double log_ratio = 0;
  double deviation = 0;  ///< standard deviation of log_ratio
};

/// Of times that were taken alternately. @param confidence of the interval: 0.95 or 0.99
[[nodiscard]] TimeChange change_of(double ratio, const Interval& interval, double confidence);
/// How two changes of different runs differ, runs themselves apart (kBetweenRuns).
[[nodiscard]] TimeChange change_since(const TimeChange& now, const TimeChange& then);

/// Standard deviation of the logarithm of a ratio of medians of two fresh processes: docs/fleet.md#calibration has the record.
inline constexpr double kBetweenRuns = 0.0028;

/// One-sided p that a change at least as large comes by chance where there is none.
[[nodiscard]] double p_of_chance(const TimeChange& change);

/// Those that may be regressions: by kRegression at least, and beyond chance among all changes of one check together (Holm,
/// "A Simple Sequentially Rejective Multiple Test Procedure", 1979). A suspect is measured again before it is named.
[[nodiscard]] std::vector<bool> suspects(std::span<const TimeChange> changes);
/// Whether fresh samples of a suspect say the same.
[[nodiscard]] bool confirms(const TimeChange& repeated);

}  // namespace ak
