// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "core/remaining_gain.h"

namespace ak::agent {

/// Shares of the best time that may still be gained, ascending (chosen: fine where searches stop).
inline constexpr std::array kGains{0.0,  0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075,
                                   0.01, 0.0125, 0.015, 0.02,  0.025, 0.03,  0.04,  0.05,
                                   0.06, 0.08,   0.1,   0.125, 0.15,  0.2,   0.25,  0.3,
                                   0.4,  0.5,    0.6,   0.7,   0.8,   0.9,   1.0};

/// A search says so often, in evaluations, what it may still gain: that takes as long as ten proposals (chosen).
inline constexpr int kJudgedEvery = 10;

/// Of each of kGains, the chance that nothing without an answer gains more. Ascends to 1.
using GainCurve = std::array<double, kGains.size()>;

/// How alike points are that have no answer decides how much the best of them gains, and is only known within bounds.
struct GainChances {
  GainCurve cautious = all_ones();  ///< expects too much rather than too little
  GainCurve sure = all_ones();      ///< expects too little rather than too much

 private:
  static constexpr GainCurve all_ones() {
    GainCurve curve{};
    curve.fill(1);
    return curve;
  }
};

/// Nothing gains more than `most`.
void rule_out_gains(GainChances& chances, double most);
/// The quantile of 5 % where sure, that of 95 % where cautious, and the geometric mean of the means.
[[nodiscard]] RemainingGain summary_of(const GainChances& chances);

}  // namespace ak::agent
