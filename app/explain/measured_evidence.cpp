// SPDX-License-Identifier: Apache-2.0
#include "app/explain/measured_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "agent/paired_comparison.h"
#include "codegen/source/optimisations.h"
#include "db/read/stored_pairs.h"
#include "profiler/analysis/analysis.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxValues = 4;    // of a tunable, in a text
constexpr std::size_t kMaxCounters = 3;  // of an optimisation

TunableValues without(TunableValues values, const std::string& name) {
  values.erase(name);
  return values;
}

void add_pair(TunableEffect& effect, double ratio) {
  effect.low = effect.pairs == 0 ? ratio : std::min(effect.low, ratio);
  effect.high = effect.pairs == 0 ? ratio : std::max(effect.high, ratio);
  // The mean of the logarithms, one more of them at a time.
  effect.ratio = std::exp((std::log(effect.ratio) * effect.pairs + std::log(ratio)) / (effect.pairs + 1));
  ++effect.pairs;
}

std::vector<TunableEffect> effects_of(const std::vector<db::MeasuredPoint>& points,
                                      const TunableValues& chosen, const std::string& name) {
  const std::int64_t value = chosen.at(name);
  std::map<TunableValues, const db::MeasuredPoint*> with_chosen;
  for (const db::MeasuredPoint& point : points)
    if (const auto own = point.tunables.find(name); own != point.tunables.end() && own->second == value)
      with_chosen[without(point.tunables, name)] = &point;
  std::map<std::int64_t, TunableEffect> effects;
  for (const db::MeasuredPoint& point : points) {
    const auto own = point.tunables.find(name);
    if (own == point.tunables.end() || own->second == value) continue;
    const auto pair = with_chosen.find(without(point.tunables, name));
    if (pair == with_chosen.end() || pair->second->score_ns <= 0 || point.score_ns <= 0) continue;
    TunableEffect& effect = effects[own->second];
    effect.name = name;
    effect.chosen = value;
    effect.other = own->second;
    const double ratio = point.score_ns / pair->second->score_ns;
    add_pair(effect, ratio);
    if (pair->second->tunables != chosen) continue;
    effect.here = ratio;
    effect.variant = point.variant;
  }
  std::vector<TunableEffect> list;
  for (auto& [other, effect] : effects) list.push_back(effect);
  return list;
}

/// What pairs of the two kernels' times said, where they were taken alternately.
std::string paired_text(const std::filesystem::path& database, const TunableEffect& effect,
                        const StoredKernel& kernel) {
  if (effect.variant == 0) return "";
  const auto pairs = db::find_pairs(database, effect.variant, kernel.stored.variant);
  if (pairs.empty()) return "";
  Completed comparison;
  comparison.request.problem = kernel.problem;
  comparison.result = pairs.back().result;
  const auto verdict = agent::judge_pairs(comparison);
  if (!verdict) return "";
  return fmt::format("; timed alternately with it {:.2f}x, 99 % interval {:.2f}x to {:.2f}x",
                     verdict->ratio.ratio, verdict->ratio.interval.low, verdict->ratio.interval.high);
}

std::vector<std::string> counters_text(const std::vector<std::string_view>& wanted,
                                       const std::vector<JudgedWorkload>& judged) {
  std::vector<std::string> texts;
  for (const std::string_view name : wanted) {
    for (const JudgedWorkload& workload : judged) {
      const Profile& profile = workload.profile;
      const auto unit = profile.units.find(std::string(name));
      double most = 0;
      for (const LaunchProfile& launch : profile.launches)
        if (const auto value = launch.metrics.find(std::string(name)); value != launch.metrics.end())
          most = std::max(most, value->second);
      if (most <= 0 || texts.size() >= kMaxCounters) continue;
      texts.push_back(fmt::format("at work: {} = {}{} on {}", name, profiler::short_number(most),
                                  unit == profile.units.end() ? "" : " " + unit->second, profile.workload));
      break;
    }
  }
  return texts;
}

/// Exact counts of every shape say that it never happens.
bool never_happens(const codegen::Optimisation& optimisation, const std::vector<JudgedWorkload>& judged) {
  if (optimisation.never.empty() || judged.empty()) return false;
  return std::ranges::all_of(judged, [&](const JudgedWorkload& workload) {
    const Profile& profile = workload.profile;
    if (profile.method != kEmulatedMethod) return false;
    return std::ranges::none_of(profile.launches, [&](const LaunchProfile& launch) {
      const auto first = launch.metrics.lower_bound(std::string(optimisation.never));
      return first != launch.metrics.end() && first->first.starts_with(optimisation.never);
    });
  });
}

std::vector<codegen::Optimisation> happening(const StoredKernel& kernel,
                                             const std::vector<JudgedWorkload>& judged,
                                             const std::string& of_kernel = "") {
  std::vector<ResolvedPlan> plans;
  for (const JudgedWorkload& workload : judged) plans.push_back(workload.plan);
  auto found = codegen::optimisations_of(kernel.candidate, plans, of_kernel);
  std::erase_if(found, [&](const codegen::Optimisation& one) { return never_happens(one, judged); });
  return found;
}

/// The launches of a call on the first of the shapes.
std::vector<codegen::LaunchNote> launch_notes(const StoredKernel& kernel,
                                              const std::vector<JudgedWorkload>& judged) {
  std::vector<codegen::LaunchNote> notes;
  if (judged.empty()) return notes;
  for (const ResolvedLaunch& launch : judged.front().plan.launches) {
    codegen::LaunchNote note{.kernel = launch.kernel, .optimisations = {}};
    for (const codegen::Optimisation& found : happening(kernel, judged, launch.kernel))
      note.optimisations.emplace_back(found.name);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace

std::vector<TunableEffect> tunable_effects(const std::vector<db::MeasuredPoint>& points,
                                           const TunableValues& chosen) {
  std::vector<TunableEffect> all;
  for (const auto& [name, value] : chosen) {
    const auto effects = effects_of(points, chosen, name);
    all.insert(all.end(), effects.begin(), effects.end());
  }
  return all;
}

std::string effect_text(const TunableEffect& effect) {
  std::string text =
      fmt::format("{}={} instead of {}: {:.2f}x", effect.name, effect.chosen, effect.other, effect.ratio);
  if (effect.pairs == 1) return text + (effect.here ? " at this point" : " (1 pair of points)");
  text += fmt::format(" ({} pairs of points differing in nothing else, {:.2f}x to {:.2f}x", effect.pairs,
                      effect.low, effect.high);
  return text + (effect.here ? fmt::format("; at this point {:.2f}x)", *effect.here) : ")");
}

void add_evidence(const std::filesystem::path& database, const StoredKernel& kernel,
                  const std::vector<JudgedWorkload>& judged, codegen::ExplanationParts& parts) {
  const Candidate& candidate = kernel.candidate;
  const db::EvaluatedVariant& stored = kernel.stored;
  std::map<std::string, std::vector<std::string>> by_tunable;
  for (const TunableEffect& effect :
       tunable_effects(db::measured_points(database, stored.evaluation), candidate.tunables)) {
    auto& texts = by_tunable[effect.name];
    if (texts.size() < kMaxValues)
      texts.push_back(effect_text(effect) + paired_text(database, effect, kernel));
  }
  for (const auto& [name, texts] : by_tunable) parts.tunables.push_back({.name = name, .evidence = texts});
  parts.launches = launch_notes(kernel, judged);
  for (const codegen::Optimisation& found : happening(kernel, judged)) {
    codegen::OptimisationNote note{.name = std::string(found.name),
                                   .purpose = std::string(found.purpose),
                                   .lines = found.lines,
                                   .tunables = found.tunables,
                                   .evidence = {}};
    for (const std::string& tunable : found.tunables)
      note.evidence.insert(note.evidence.end(), by_tunable[tunable].begin(), by_tunable[tunable].end());
    const auto counters = counters_text(found.counters, judged);
    note.evidence.insert(note.evidence.end(), counters.begin(), counters.end());
    parts.optimisations.push_back(std::move(note));
  }
  for (const db::SwitchedOff& off : db::switched_off(database, stored.evaluation)) {
    const bool timed = off.score_ns && stored.result.score_ns;
    parts.optimisations.push_back({.name = off.name,
                                   .purpose = "a switch in its text",
                                   .lines = {},
                                   .tunables = {},
                                   .evidence = {timed ? fmt::format("on instead of off: {:.2f}x",
                                                                    *off.score_ns / *stored.result.score_ns)
                                                      : std::string("switched off it fails")}});
  }
}

}  // namespace ak::app
