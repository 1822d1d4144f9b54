// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/remaining_gain.h"

namespace ak {

/// A result whose time could fall by this share at most is at the limit. Chosen: the limit is from data-sheet peaks, and
/// kernels without flaws rarely use more than 95 % of a unit, memories some 93 %.
inline constexpr double kAtLimit = 0.1;
/// A search that can gain this share of its best time at most has little left; as `--stop-when-done 1%`, where the share
/// of searches that leave more was measured (docs/search.md).
inline constexpr double kLittleGain = 0.01;

inline constexpr std::string_view kVerdictAtLimit = "at the limit", kVerdictStuck = "stuck",
                                  kVerdictBudget = "budget";

/// The share of `best_ns` that is above `limit_ns`; nothing where either is not known. Not below 0: a limit is of the
/// device's nominal clocks.
[[nodiscard]] std::optional<double> headroom_of(std::optional<double> best_ns,
                                                std::optional<double> limit_ns);

/// What a search had come to when it ended. Shares are of its best time.
struct SearchEnd {
  std::string_view reason;                  ///< that ended it, as stored with the search
  std::optional<double> limit_headroom;     ///< what the device's least time leaves; nothing: not known
  std::optional<double> counters_headroom;  ///< what the counters of the best promise at most; nothing: none
  std::optional<RemainingGain> gain;        ///< of its spaces; nothing: not known
};

/// How good the result is that a search ended with.
struct SearchVerdict {
  std::string verdict;             ///< kVerdictAtLimit, kVerdictStuck or kVerdictBudget
  std::optional<double> headroom;  ///< the smaller of both of SearchEnd; nothing: neither is known
  std::string limited_by;          ///< "the device" or "counters"; empty: neither is known
};

/// At the limit: the headroom is at most kAtLimit. Stuck: there is more, and what was searched is used up or can gain
/// kLittleGain at most. Else a budget, a target or a person ended it.
[[nodiscard]] SearchVerdict verdict_of(const SearchEnd& end);

/// "stuck: nothing left to try is much faster, and the limit of the device leaves 34 %".
[[nodiscard]] std::string verdict_text(const SearchVerdict& verdict);

}  // namespace ak
