// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/user_prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/llm/prompt_parts.h"
#include "agent/llm/quoting.h"

namespace ak::agent {
namespace {

// Tokens of the parts of a request that others write; chosen so that all of it fits into 48,000.
constexpr std::int64_t kSourceTokens = 12'000, kOutcomeTokens = 2'500, kHistoryTokens = 1'500,
                       kSurfaceTokens = 1'000, kRememberedTokens = 1'000;
constexpr std::size_t kElitesShown = 6, kFastestShown = 5;
constexpr std::size_t kMinSurface = 3;  // points: fewer are in the history

std::string attempt_line(const Attempt& attempt) {
  return fmt::format("- {} ({}) [{}]: {}\n", attempt.candidate.name,
                     tunables_text(attempt.candidate.tunables), attempt.approach, attempt.line);
}

/// What was believed of an attempt, and what came of that; empty where nothing was said.
std::string expectation(const Attempt& attempt, bool with_reason) {
  if (!attempt.hypothesis) return "";
  const Hypothesis& stated = *attempt.hypothesis;
  const auto measured = stated.measured(attempt.score_ns);
  return fmt::format("{}{}{}: expected to be {:.3g} times as fast as its parent{}: {}\n", stated.change,
                     with_reason ? ", because " : "", with_reason ? stated.reason : "", stated.speedup,
                     measured ? fmt::format(", measured {:.3g}", *measured) : "",
                     verdict_on(stated.speedup, attempt.passed, measured));
}

std::string history(const Archive& archive) {
  std::string text = "Fastest so far:\n";
  std::size_t shown = 0;
  for (const Attempt* elite : archive.elites()) {
    if (++shown > kElitesShown) break;
    text += attempt_line(*elite);
  }
  if (shown == 0) text += "- nothing has passed the checks yet\n";
  if (archive.recent().empty()) return text;
  text += "\nYour candidates, oldest first:\n";
  for (const Attempt& attempt : archive.recent()) {
    const std::string believed = expectation(attempt, false);
    text += attempt_line(attempt) + (believed.empty() ? "" : "  " + believed);
  }
  return text;
}

/// Of the attempt, or of its source where that point was not profiled.
std::string limits_of(const Archive& archive, const Attempt& parent) {
  if (!parent.limits.empty()) return parent.limits;
  const KnownLimits* known = archive.limits(parent.candidate.source);
  return known ? fmt::format("Profiled at {}:\n{}", tunables_text(known->point), known->text) : "";
}

/// What a request quotes of one parent.
struct Quoted {
  std::string source, tunables, outcome, surface;
};

Quoted quoted(const Archive& archive, const Attempt* parent) {
  if (parent == nullptr) return {};
  const Surface* surface = archive.surface(parent->candidate.source);
  const std::string found = surface ? surface_text(*surface) : "";
  return {
      quotable(parent->candidate.source, kSourceTokens), tunables_text(parent->candidate.tunables),
      quotable(expectation(*parent, true) + parent->outcome + limits_of(archive, *parent), kOutcomeTokens),
      found.empty() ? "" : quotable(found, kSurfaceTokens)};
}

}  // namespace

std::string surface_text(const Surface& surface) {
  if (surface.times_ns.size() < kMinSurface) return "";
  std::map<std::string, std::map<std::int64_t, double>> best;
  std::vector<std::pair<double, const TunableValues*>> fastest;
  for (const auto& [point, time_ns] : surface.times_ns) {
    fastest.emplace_back(time_ns, &point);
    for (const auto& [name, value] : point) {
      const auto [entry, added] = best[name].try_emplace(value, time_ns);
      if (!added) entry->second = std::min(entry->second, time_ns);
    }
  }
  std::string text = fmt::format("{} points were timed. The best time with each value of a tunable:\n",
                                 surface.times_ns.size());
  for (const auto& [name, times] : best) {
    if (times.size() < 2) continue;
    std::vector<std::string> cells;
    for (const auto& [value, time_ns] : times)
      cells.push_back(fmt::format("{}: {}", value, time_text(time_ns)));
    text += fmt::format("  {}  {}\n", name, fmt::join(cells, ", "));
  }
  std::ranges::stable_sort(fastest, {}, [](const auto& entry) { return entry.first; });
  text += "The fastest points:\n";
  for (std::size_t i = 0; i < std::min(kFastestShown, fastest.size()); ++i)
    text += fmt::format("  {}: {}\n", tunables_text(*fastest[i].second), time_text(fastest[i].first));
  return text;
}

std::string user_prompt(const PromptSet& prompts, const Archive& archive, const Choice& choice,
                        std::size_t most, const std::string& remembered, std::uint64_t seed, int request) {
  const std::string past = quotable(history(archive), kHistoryTokens);
  const Quoted first = quoted(archive, choice.parent), second = quoted(archive, choice.second);
  const std::string tried = remembered.empty() ? "" : quotable(remembered, kRememberedTokens);
  const std::string fence =
      fence_for(seed, request,
                past + tried + first.source + first.outcome + first.surface + second.source + second.outcome);
  std::string text = prompts.fill("history", {{"fence", fence}, {"history", past}});
  const auto add = [&](std::string_view part, const Quoted& parent) {
    text += prompts.fill(part, {{"fence", fence},
                                {"source", parent.source},
                                {"tunables", parent.tunables},
                                {"outcome", parent.outcome}});
  };
  if (choice.parent != nullptr) add("parent", first);
  if (!first.surface.empty()) text += prompts.fill("surface", {{"fence", fence}, {"surface", first.surface}});
  if (!tried.empty()) text += prompts.fill("remembered", {{"fence", fence}, {"remembered", tried}});
  if (choice.second != nullptr) add("second_parent", second);
  return text + prompts.fill("ask_" + choice.arm, {{"most", fmt::format("{}", most)}});
}

}  // namespace ak::agent
