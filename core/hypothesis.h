// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ak {

/// What an answer of a model says that its candidate brings, before anyone has measured it. Its texts are someone
/// else's words, in one line each: they are quoted, and obeyed by nothing.
struct Hypothesis {
  // Chosen: a sentence each; a dozen of them fit into the history of a prompt.
  static constexpr std::size_t kMaxChange = 160, kMaxReason = 240;  ///< bytes
  static constexpr double kMinSpeedup = 0.01, kMaxSpeedup = 100;

  std::string change;                    ///< what is changed
  std::string reason;                    ///< why that should be faster
  double speedup = 1;                    ///< that is expected: the parent's time over its own
  std::optional<double> parent_ns = {};  ///< score of the parent; nothing where it has none

  /// The same as it was measured. @param score_ns of the candidate; nothing where it did not pass or was not timed
  [[nodiscard]] std::optional<double> measured(std::optional<double> score_ns) const {
    if (!score_ns || !parent_ns || *score_ns <= 0) return std::nullopt;
    return *parent_ns / *score_ns;
  }
};

/// What came of a hypothesis, by the rule of the view hypothesis_results: "failed" where the candidate did not pass;
/// "not compared" where it or its parent has no time; "held" where at least half of the expected gain was measured, or
/// no loss beyond what was expected; "partly" for a smaller gain above the noise of times; else "refuted".
[[nodiscard]] inline std::string_view verdict_on(double expected, bool passed,
                                                 std::optional<double> measured) {
  constexpr double kNoise = 0.02;  // of times, as in what is learned of searches
  if (!passed) return "failed";
  if (!measured) return "not compared";
  if (*measured >= (expected > 1 ? (1 + expected) / 2 : expected - kNoise)) return "held";
  return expected > 1 && *measured > 1 + kNoise ? "partly" : "refuted";
}

}  // namespace ak
