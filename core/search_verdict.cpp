// SPDX-License-Identifier: Apache-2.0
#include "core/search_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ak {
namespace {

/// Reasons that say that what is searched has nothing more, as opposed to budgets.
constexpr std::array<std::string_view, 3> kUsedUp{"space exhausted", "no progress", "little left to gain"};

std::string_view words_of(std::string_view verdict) {
  if (verdict == kVerdictAtLimit) return "little is left to gain by any kernel";
  if (verdict == kVerdictStuck) return "what is left to try is not much faster";
  return "more of it may find more";
}

}  // namespace

std::optional<double> headroom_of(std::optional<double> best_ns, std::optional<double> limit_ns) {
  if (!best_ns || !limit_ns || *best_ns <= 0) return std::nullopt;
  return std::clamp(1 - *limit_ns / *best_ns, 0.0, 1.0);
}

SearchVerdict verdict_of(const SearchEnd& end) {
  SearchVerdict found{
      .verdict = std::string(kVerdictBudget), .headroom = end.limit_headroom, .limited_by = ""};
  if (end.limit_headroom) found.limited_by = "the device";
  if (end.counters_headroom && (!found.headroom || *end.counters_headroom < *found.headroom)) {
    found.headroom = end.counters_headroom;
    found.limited_by = "counters";
  }
  const bool used_up =
      std::ranges::find(kUsedUp, end.reason) != kUsedUp.end() || (end.gain && end.gain->high <= kLittleGain);
  if (found.headroom && *found.headroom <= kAtLimit)
    found.verdict = kVerdictAtLimit;
  else if (used_up)
    found.verdict = kVerdictStuck;
  return found;
}

std::string verdict_text(const SearchVerdict& verdict) {
  std::string text = fmt::format("{}: {}", verdict.verdict, words_of(verdict.verdict));
  if (verdict.headroom)
    text +=
        fmt::format("; {} {} {:.2g} % of its time",
                    verdict.limited_by == "counters" ? "its counters" : "the limit of the device",
                    verdict.limited_by == "counters" ? "promise at most" : "leaves", 100 * *verdict.headroom);
  else
    text += "; no limit is known";
  return text;
}

}  // namespace ak
