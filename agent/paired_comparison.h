// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/evaluation.h"
#include "core/learn/stats.h"

namespace ak::agent {

/// What a challenger must gain on the champion: below it timer resolution decides (docs/search.md).
inline constexpr double kMinGain = 0.005;

/// What timing two candidates in pairs says.
struct PairedVerdict {
  PairedRatio ratio;                          ///< challenger's time over the champion's
  bool faster = false;                        ///< beyond noise (99 %), and by kMinGain
  bool likely_faster = false;                 ///< the same with 75 %
  double challenger_ns = 0, champion_ns = 0;  ///< scores by these samples
  [[nodiscard]] std::string text() const;     ///< "1.3 % faster (99 % interval 0.9 to 1.6 %)"
};

/// Of an evaluation with a rival, from the samples that were not throttled. Nothing when it did not pass.
[[nodiscard]] std::optional<PairedVerdict> judge_pairs(const Completed& comparison);
/// The same of its result alone.
/// @param workloads give the weights; 1 for one that is not among them
[[nodiscard]] std::optional<PairedVerdict> judge_pairs(const EvaluationResult& result,
                                                       std::span<const Workload> workloads);

/// Makes a comparison that its rival failed one of the rival: whose outcome it is, but not whose build.
void name_the_rival(Completed& comparison);

/// What a workload's candidate was timed in pairs with: of role champion, or of a library. Null for nothing.
[[nodiscard]] const Measurement* other_of(const EvaluationResult& result, const std::string& workload,
                                          MeasurementRole role);
/// The samples that count: both of a pair suffer alike from throttling.
[[nodiscard]] PairedSamples pair_up(const Measurement& challenger, const Measurement& champion,
                                    double weight);

}  // namespace ak::agent
