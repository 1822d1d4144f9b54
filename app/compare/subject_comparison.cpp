// SPDX-License-Identifier: Apache-2.0
#include "app/compare/subject_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "agent/paired_comparison.h"
#include "core/error.h"
#include "db/read/stored_pairs.h"

namespace ak::app {
namespace {

using db::SearchStats;

constexpr double kNsPerUs = 1e3;
constexpr std::string_view kEmulator = "emulator";

std::optional<double> microseconds(std::optional<double> ns) {
  return ns ? std::optional(*ns / kNsPerUs) : std::nullopt;
}

std::optional<double> share(double part, double whole, double scale = 1) {
  return whole > 0 ? std::optional(scale * part / whole) : std::nullopt;
}

/// Nothing where the price is not known, either.
std::optional<double> cost_share(const std::optional<double>& cost_usd, double whole) {
  return cost_usd ? share(*cost_usd, whole) : std::nullopt;
}

SearchStats stats_of(const std::filesystem::path& database, const std::string& search) {
  return db::search_stats(database, std::stoll(search)).value();
}

// ---- searches ------------------------------------------------------------------------------------------

std::string summary_text(const SearchStats& s) {
  return fmt::format("search {}: {} on {} ({}), {} {}{}, seed {}, {}", s.search, s.definition, s.device.name,
                     s.arch, s.proposer, s.strategy,
                     s.models.empty() ? "" : fmt::format(" with {}", fmt::join(s.models, ", ")), s.seed,
                     s.status);
}

/// Why times of the two say nothing of each other; empty where they do.
std::string why_no_pairs(const SearchStats& a, const SearchStats& b) {
  if (a.device.kind != b.device.kind)
    return "One ran on a GPU and the other on the CPU device: times and estimated costs do not compare.";
  if (a.definition != b.definition)
    return fmt::format("They searched different problems, {} and {}.", a.definition, b.definition);
  return "";
}

void add_notes(const SearchStats& a, const SearchStats& b, std::vector<std::string>& notes) {
  if (a.device != b.device)
    notes.push_back(fmt::format("They ran on different devices: the difference is partly that of {} and {}.",
                                a.device.name, b.device.name));
  if (a.arch != b.arch) notes.push_back(fmt::format("Their targets differ: {} and {}.", a.arch, b.arch));
  if (a.definition == b.definition && a.workloads_hash != b.workloads_hash)
    notes.push_back(
        "Their shapes or weights differ: shapes that both timed are paired, scores do not compare.");
  if (a.resumed || b.resumed)
    notes.push_back(
        fmt::format("{} began with results of earlier searches: numbers of evaluations do not compare.",
                    a.resumed && b.resumed ? "Each" : (a.resumed ? "The first" : "The second")));
}

/// 25, 50, 100, 200, ... and the most that both did.
std::vector<std::int64_t> equal_counts(const SearchStats& a, const SearchStats& b) {
  const std::int64_t most = std::min(a.evaluations(), b.evaluations());
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 25; count < most; count *= 2) counts.push_back(count);
  if (most > 0) counts.push_back(most);
  return counts;
}

void add_search_stats(const SearchStats& a, const SearchStats& b, bool comparable,
                      SubjectComparison& comparison) {
  const auto add = [&](const std::string& name, const std::string& unit, auto of) {
    comparison.metrics.push_back({name, unit, of(a), of(b)});
  };
  using DeviceProperty = std::optional<double>;
  add("evaluations", "", [](const auto& s) { return DeviceProperty(static_cast<double>(s.evaluations())); });
  add("verified", "", [](const auto& s) { return DeviceProperty(static_cast<double>(s.verified)); });
  add("wall time", "s", [](const auto& s) { return s.wall_s; });
  add("model tokens", "", [](const auto& s) {
    return s.models.empty() ? DeviceProperty() : DeviceProperty(static_cast<double>(s.tokens));
  });
  add("model cost", "USD", [](const auto& s) { return s.model_usd; });
  if (comparable) {
    add("best, measured last", "us", [](const auto& s) { return microseconds(s.best_ns); });
    for (const std::int64_t count : equal_counts(a, b))
      add(fmt::format("best after {} evaluations", count), "us",
          [&](const auto& s) { return microseconds(s.best_after(count)); });
  }
  std::set<std::string> statuses;
  for (const SearchStats* side : {&a, &b})
    for (const auto& [status, count] : side->failures) statuses.insert(status);
  for (const std::string& status : statuses)
    add("failed: " + status, "", [&](const auto& s) {
      const auto found = s.failures.find(status);
      return DeviceProperty(found == s.failures.end() ? 0 : static_cast<double>(found->second));
    });
}

/// What timing the two champions alternately said, where that was done.
std::string turns_text(const std::filesystem::path& database, const SearchStats& a, const SearchStats& b) {
  if (!a.best_variant || !b.best_variant || *a.best_variant == *b.best_variant) return "";
  for (const bool swapped : {false, true}) {
    const auto stored = swapped ? db::find_pairs(database, *a.best_variant, *b.best_variant)
                                : db::find_pairs(database, *b.best_variant, *a.best_variant);
    if (stored.empty()) continue;
    if (const auto verdict = agent::judge_pairs(stored.back().result, {}))
      return fmt::format("Their best kernels were timed alternately on {}: that of the {} is {}.",
                         stored.back().device, swapped ? "first" : "second", verdict->text());
  }
  return "";
}

void compare_searches(const std::filesystem::path& database, SubjectComparison& comparison) {
  const SearchStats a = stats_of(database, comparison.first.name);
  const SearchStats b = stats_of(database, comparison.second.name);
  comparison.first_is = summary_text(a);
  comparison.second_is = summary_text(b);
  comparison.estimated = a.device.kind == kEmulator && b.device.kind == kEmulator;
  const std::string why = why_no_pairs(a, b);
  add_search_stats(a, b, why.empty() && a.workloads_hash == b.workloads_hash, comparison);
  if (!why.empty()) {
    comparison.notes.push_back(why);
    return;
  }
  add_notes(a, b, comparison.notes);
  comparison.pair_is = "the best kernels of both on one shape";
  comparison.pairs = db::champion_pairs(database, a.search, b.search);
  if (a.best_variant && a.best_variant == b.best_variant)
    comparison.notes.push_back("Both ended with the same kernel: what differs is the measurement.");
  if (const std::string turns = turns_text(database, a, b); !turns.empty()) comparison.notes.push_back(turns);
}

// ---- devices -------------------------------------------------------------------------------------------

void compare_devices(const std::filesystem::path& database, SubjectComparison& comparison) {
  const db::DeviceName a{comparison.first.kind_name, comparison.first.name};
  const db::DeviceName b{comparison.second.kind_name, comparison.second.name};
  comparison.first_is = fmt::format("device {} ({})", a.name, a.kind);
  comparison.second_is = fmt::format("device {} ({})", b.name, b.kind);
  comparison.estimated = a.kind == kEmulator && b.kind == kEmulator;
  const db::DeviceStats first = db::device_stats(database, a), second = db::device_stats(database, b);
  using Member = std::int64_t db::DeviceStats::*;
  const std::pair<const char*, Member> rows[] = {{"searches", &db::DeviceStats::searches},
                                                 {"definitions", &db::DeviceStats::definitions},
                                                 {"variants", &db::DeviceStats::variants},
                                                 {"variants verified", &db::DeviceStats::passed},
                                                 {"evaluations", &db::DeviceStats::evaluations}};
  for (const auto& [name, member] : rows)
    comparison.metrics.push_back(
        {name, "", static_cast<double>(first.*member), static_cast<double>(second.*member)});
  if (a.kind != b.kind) {
    comparison.notes.emplace_back(
        "One is a GPU and the other is the CPU device: times and estimated costs do not compare.");
    return;
  }
  comparison.pair_is = "one variant on one shape, timed on both";
  comparison.pairs = db::device_pairs(database, a, b);
  comparison.notes.emplace_back(
      "Variants were chosen by searches on one of them, as a rule: each favours where it was found.");
}

// ---- models and prompts --------------------------------------------------------------------------------

struct Asked {
  std::vector<SearchStats> alone;
  std::size_t shared = 0;
};

Asked asked_of(const std::filesystem::path& database, db::CallColumn column, const std::string& value) {
  Asked asked;
  for (const db::AskedSearch& one : db::asked_searches(database, column, value)) {
    if (one.alone)
      asked.alone.push_back(db::search_stats(database, one.search).value());
    else
      ++asked.shared;
  }
  return asked;
}

/// Searches are comparable where this is the same.
using Cell = std::tuple<std::string, std::string, std::string, std::string, std::string>;
Cell cell_of(const SearchStats& s) {
  return {s.definition, s.workloads_hash, s.device.kind, s.device.name, s.arch};
}

/// Searches of a cell two by two: those of equal seed first, the others in their order.
std::vector<std::pair<const SearchStats*, const SearchStats*>> matched(
    std::vector<const SearchStats*> first, std::vector<const SearchStats*> second) {
  std::vector<std::pair<const SearchStats*, const SearchStats*>> pairs;
  std::erase_if(first, [&](const SearchStats* a) {
    const auto b = std::ranges::find(second, a->seed, &SearchStats::seed);
    if (b == second.end()) return false;
    pairs.emplace_back(a, *b);
    second.erase(b);
    return true;
  });
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    pairs.emplace_back(first[i], second[i]);
  return pairs;
}

/// Their bests after as many evaluations as both did.
std::optional<db::MatchedPair> pair_of(const SearchStats& a, const SearchStats& b) {
  const std::int64_t count = std::min(a.evaluations(), b.evaluations());
  const auto first = a.best_after(count), second = b.best_after(count);
  if (!first || !second) return std::nullopt;
  return db::MatchedPair{.definition = a.definition,
                         .what = fmt::format("searches {} and {} after {} evaluations on {} ({})", a.search,
                                             b.search, count, a.device.name, a.arch),
                         .first_ns = *first,
                         .second_ns = *second};
}

/// Both kinds of device may have pairs: those of GPUs are taken, else those of the CPU device, never both.
void pair_searches(const Asked& a, const Asked& b, SubjectComparison& comparison) {
  std::map<Cell, std::pair<std::vector<const SearchStats*>, std::vector<const SearchStats*>>> cells;
  for (const SearchStats& s : a.alone) cells[cell_of(s)].first.push_back(&s);
  for (const SearchStats& s : b.alone) cells[cell_of(s)].second.push_back(&s);
  std::map<std::string, std::vector<db::MatchedPair>> by_kind;
  std::size_t unpaired = 0;
  for (const auto& [cell, sides] : cells) {
    const auto pairs = matched(sides.first, sides.second);
    unpaired += sides.first.size() + sides.second.size() - 2 * pairs.size();
    for (const auto& [first, second] : pairs) {
      if (const auto pair = pair_of(*first, *second))
        by_kind[first->device.kind].push_back(*pair);
      else
        comparison.notes.push_back(
            fmt::format("Searches {} and {} do not form a pair: nothing had passed in one of them after as "
                        "many evaluations as both did.",
                        first->search, second->search));
    }
  }
  comparison.estimated = by_kind["cuda"].empty();
  comparison.pairs = by_kind[comparison.estimated ? std::string(kEmulator) : "cuda"];
  if (!comparison.estimated && !by_kind[std::string(kEmulator)].empty())
    comparison.notes.push_back(fmt::format("{} pairs on the CPU device are left out: costs are not times.",
                                           by_kind[std::string(kEmulator)].size()));
  if (unpaired > 0)
    comparison.notes.push_back(fmt::format(
        "{} searches have no counterpart of the same problem, shapes, device and target.", unpaired));
  if (a.shared + b.shared > 0)
    comparison.notes.push_back(
        fmt::format("{} searches asked others, too, and are in no pair.", a.shared + b.shared));
}

void compare_askers(const std::filesystem::path& database, SubjectComparison& comparison) {
  const bool model = comparison.first.kind == SubjectKind::model;
  const auto column = model ? db::CallColumn::model : db::CallColumn::prompt_version;
  const std::string what = model ? "model" : "prompts of version";
  comparison.first_is = fmt::format("{} {}", what, comparison.first.name);
  comparison.second_is = fmt::format("{} {}", what, comparison.second.name);
  comparison.pair_is =
      "two searches of one problem, its shapes, device and target: their bests after as many evaluations";
  pair_searches(asked_of(database, column, comparison.first.name),
                asked_of(database, column, comparison.second.name), comparison);
  const db::CallStats a = db::call_stats(database, column, comparison.first.name);
  const db::CallStats b = db::call_stats(database, column, comparison.second.name);
  const auto add = [&](const char* name, const char* unit, auto of) {
    comparison.metrics.push_back({name, unit, of(a), of(b)});
  };
  using DeviceProperty = std::optional<double>;
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  add("searches", "", [&](const auto& f) { return DeviceProperty(count(f.searches)); });
  add("calls", "", [&](const auto& f) { return DeviceProperty(count(f.calls)); });
  add("candidates", "", [&](const auto& f) { return DeviceProperty(count(f.candidates)); });
  add("verified", "%", [&](const auto& f) { return share(count(f.verified), count(f.candidates), 100); });
  add("exchanges that took the lead", "%",
      [&](const auto& f) { return share(count(f.took_the_lead), count(f.exchanges), 100); });
  add("tokens in", "", [&](const auto& f) { return DeviceProperty(count(f.input_tokens)); });
  add("tokens out", "", [&](const auto& f) { return DeviceProperty(count(f.output_tokens)); });
  add("cost", "USD", [&](const auto& f) { return f.cost_usd; });
  add("cost of a verified candidate", "USD",
      [&](const auto& f) { return cost_share(f.cost_usd, count(f.verified)); });
  add("cost of a percent gained", "USD",
      [&](const auto& f) { return cost_share(f.cost_of_gains_usd, f.percent_gained); });
}

// ---- the verdict ---------------------------------------------------------------------------------------

std::vector<NumberPair> numbers(const std::vector<db::MatchedPair>& pairs) {
  std::vector<NumberPair> result;
  for (const db::MatchedPair& pair : pairs) result.push_back({pair.first_ns, pair.second_ns});
  return result;
}

std::vector<DefinitionPairs> by_definition(const std::vector<db::MatchedPair>& pairs) {
  std::map<std::string, std::vector<db::MatchedPair>> groups;
  for (const db::MatchedPair& pair : pairs) groups[pair.definition].push_back(pair);
  std::vector<DefinitionPairs> result;
  if (groups.size() < 2) return result;
  for (const auto& [definition, group] : groups)
    result.push_back({definition, test_pairs(numbers(group)).value()});
  return result;
}

double gain(double ratio) { return 100 * (1 - ratio); }

std::string counts_text(const PairedTest& test) {
  return fmt::format("{} pair{}: the second wins {}, loses {}, ties {}", test.pairs,
                     test.pairs == 1 ? "" : "s", test.wins, test.losses, test.ties);
}

std::string verdict_of(const SubjectComparison& comparison) {
  if (!comparison.test) return "Nothing can be paired, so neither is called the better.";
  const PairedTest& test = *comparison.test;
  const char* better = comparison.estimated ? "lower in estimated cost" : "faster";
  const char* worse = comparison.estimated ? "higher in estimated cost" : "slower";
  const std::string size = fmt::format("{:.2f} % {} by geometric mean (99 % interval {:.2f} to {:.2f} %)",
                                       std::abs(gain(test.ratio)), test.ratio <= 1 ? better : worse,
                                       gain(test.interval.high), gain(test.interval.low));
  if (test.beyond_chance())
    return fmt::format("The second is {}, which is more than chance (signed ranks: p = {:.2g}). {}.", size,
                       test.wilcoxon_p, counts_text(test));
  if (test.pairs < kMinPairs)
    return fmt::format(
        "Too few pairs to distinguish from chance ({} are needed at least): the second is {} in these. {}.",
        kMinPairs, size, counts_text(test));
  return fmt::format("No difference beyond chance (signed ranks: p = {:.2g}): the second is {}. {}.",
                     test.wilcoxon_p, size, counts_text(test));
}

}  // namespace

SubjectComparison compare_subjects(const std::filesystem::path& database, const ComparedSubject& first,
                                   const ComparedSubject& second) {
  if (first.kind != second.kind)
    fail(ExitCode::usage, "a {} and a {} do not compare: name two of one kind", to_string(first.kind),
         to_string(second.kind));
  if (first.name == second.name && first.kind_name == second.kind_name)
    fail(ExitCode::usage, "both are {} {}: name two", to_string(first.kind), first.name);
  SubjectComparison comparison{.first = first,
                               .second = second,
                               .first_is = {},
                               .second_is = {},
                               .pair_is = {},
                               .pairs = {},
                               .test = {},
                               .by_definition = {},
                               .verdict = {},
                               .notes = {},
                               .metrics = {}};
  if (first.kind == SubjectKind::search) compare_searches(database, comparison);
  if (first.kind == SubjectKind::device) compare_devices(database, comparison);
  if (first.kind == SubjectKind::model || first.kind == SubjectKind::prompt)
    compare_askers(database, comparison);
  comparison.test = test_pairs(numbers(comparison.pairs));
  comparison.by_definition = by_definition(comparison.pairs);
  comparison.verdict = verdict_of(comparison);
  return comparison;
}

}  // namespace ak::app
