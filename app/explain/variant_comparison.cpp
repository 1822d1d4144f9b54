// SPDX-License-Identifier: Apache-2.0
#include "app/explain/variant_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/evaluate/profiling.h"
#include "core/text/line_diff.h"
#include "db/read/stored_pairs.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxDiffLines = 60, kMaxDifferences = 8, kMaxNamed = 2;
constexpr double kMinDifference = 0.02;  // of a counter: less is noise of what else runs
// Of what differs, that which takes time: traffic, passes, instructions. Shares of units follow from these.
constexpr std::string_view kWork[] = {"dram/",   "l2/",       "global/",     "local/", "shared/",
                                      "atomic/", "inst/warp", "inst/tensor", "flop/"};
constexpr double kInformative = 1.1;  // a counter that differs by less explains no difference of times

const Measurement* measurement_of(const StoredKernel& kernel, const std::string& workload) {
  for (const Measurement& m : kernel.stored.result.measurements)
    if (m.role == MeasurementRole::candidate && m.cold && m.workload == workload) return &m;
  return nullptr;
}

bool same_place(const StoredKernel& a, const StoredKernel& b) {
  return a.stored.device.name == b.stored.device.name && a.stored.device.kind == b.stored.device.kind;
}

std::vector<TimeComparison> times_of(const StoredKernel& a, const StoredKernel& b) {
  std::vector<TimeComparison> times;
  for (const Workload& workload : a.problem->workloads) {
    const Measurement* first = measurement_of(a, workload.name);
    const Measurement* second = measurement_of(b, workload.name);
    if (first || second) times.push_back({.workload = workload.name, .first = first, .second = second});
  }
  return times;
}

std::optional<agent::PairedVerdict> pairs_of(const std::filesystem::path& database, const StoredKernel& a,
                                             const StoredKernel& b) {
  // The verdict is of the candidate's time over its rival's: the second over the first.
  const auto stored = db::find_pairs(database, b.stored.variant, a.stored.variant);
  for (auto pairs = stored.rbegin(); pairs != stored.rend(); ++pairs) {
    if (pairs->device != a.stored.device.name) continue;
    Completed comparison;
    comparison.request.problem = a.problem;
    comparison.result = pairs->result;
    return agent::judge_pairs(comparison);
  }
  return std::nullopt;
}

void add(std::vector<Difference>& list, const std::string& name, const std::string& first,
         const std::string& second) {
  if (first != second) list.push_back({.name = name, .first = first, .second = second});
}

std::vector<Difference> tunables_of(const Candidate& a, const Candidate& b) {
  std::vector<Difference> list;
  const auto text = [](const Candidate& candidate, const std::string& name) {
    const auto value = candidate.tunables.find(name);
    return value == candidate.tunables.end() ? std::string("-") : std::to_string(value->second);
  };
  TunableValues names = a.tunables;
  names.insert(b.tunables.begin(), b.tunables.end());
  for (const auto& [name, value] : names) add(list, name, text(a, name), text(b, name));
  return list;
}

std::string launches_text(const StoredKernel& kernel, const Workload& workload) {
  const auto plans = runtime::resolve_plans(*kernel.problem, kernel.candidate, {&workload},
                                            device_environment(kernel.stored.device, kernel.stored.arch));
  if (!plans.ok()) return "-";
  std::vector<std::string> texts;
  for (const ResolvedLaunch& launch : plans->front().plan.launches)
    texts.push_back(fmt::format("{}: {} blocks of {} threads, {} bytes shared", launch.kernel,
                                fmt::join(launch.grid, " x "), fmt::join(launch.block, " x "),
                                launch.shared_bytes));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::vector<Difference> resources_of(const EvaluationResult& a, const EvaluationResult& b) {
  std::vector<Difference> list;
  const auto text = [](const EvaluationResult& result, auto member) {
    std::vector<std::string> values;
    if (result.build)
      for (const KernelFacts& kernel : result.build->kernels)
        values.push_back(std::to_string(member(kernel)));
    return fmt::format("{}", fmt::join(values, ", "));
  };
  const auto row = [&](const char* name, auto member) { add(list, name, text(a, member), text(b, member)); };
  row("registers per thread", [](const KernelFacts& k) { return k.registers; });
  row("spilled bytes", [](const KernelFacts& k) { return k.spill_store_bytes + k.spill_load_bytes; });
  row("static shared bytes", [](const KernelFacts& k) { return k.static_shared_bytes; });
  const auto shared = [](const EvaluationResult& r) {
    return r.shared_bytes ? std::to_string(*r.shared_bytes) : "-";
  };
  add(list, "shared bytes per block", shared(a), shared(b));
  const auto occupancy = [](const EvaluationResult& r) {
    return r.occupancy ? fmt::format("{:.0f} % ({})", 100 * r.occupancy->ratio, r.occupancy->limiter) : "-";
  };
  add(list, "occupancy", occupancy(a), occupancy(b));
  return list;
}

/// Percent differ by points, all else by its ratio: a doubling weighs as much as 100 points.
double weight_of(const CounterDifference& one) {
  if (one.unit == "percent") return std::abs(one.first - one.second);
  if (one.first <= 0 || one.second <= 0) return 100;
  return 100 * std::abs(std::log2(one.first / one.second));
}

void add_counters(const JudgedWorkload& a, const JudgedWorkload& b, std::vector<CounterDifference>& list) {
  const auto* first = profiler::longest(a.launches);
  const auto* second = profiler::longest(b.launches);
  if (!first || !second || a.profile.method != b.profile.method) return;
  // A count of the CPU device that is missing is zero; a counter of a GPU that is missing was not read.
  const bool counted = a.profile.method == kEmulatedMethod;
  std::map<std::string, std::string> units = a.profile.units;
  units.insert(b.profile.units.begin(), b.profile.units.end());
  const auto value = [](const profiler::ProfiledLaunch& launch, const std::string& name) {
    const auto found = launch.input.launch.metrics.find(name);
    return found == launch.input.launch.metrics.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [name, unit] : units) {
    const auto x = value(*first, name), y = value(*second, name);
    if ((!x || !y) && !counted) continue;
    const CounterDifference one{
        .workload = a.workload, .name = name, .unit = unit, .first = x.value_or(0), .second = y.value_or(0)};
    const double most = std::max(std::abs(one.first), std::abs(one.second));
    if (std::abs(one.first - one.second) > kMinDifference * most) list.push_back(one);
  }
}

std::vector<std::string> bottlenecks_of(const std::vector<JudgedWorkload>& judged) {
  std::vector<std::string> texts;
  for (const JudgedWorkload& each : judged) {
    std::string text = bottleneck_text(each.workload, each.launches);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::string ratio_text(const VariantComparison& comparison) {
  if (!comparison.ratio)
    return "Which of them is faster is not known: they were not timed on the same device.";
  const double ratio = *comparison.ratio;
  const std::string by = comparison.pairs ? fmt::format("timed alternately, 99 % interval {:.3f} to {:.3f}",
                                                        comparison.pairs->ratio.interval.low,
                                                        comparison.pairs->ratio.interval.high)
                                          : "by " + comparison.basis;
  if (comparison.pairs && comparison.pairs->ratio.interval.low <= 1 &&
      comparison.pairs->ratio.interval.high >= 1)
    return fmt::format("No difference was shown: the second takes {:.3f} times as long ({}).", ratio, by);
  if (ratio == 1) return fmt::format("They take the same time ({}).", by);
  return ratio > 1 ? fmt::format("The second takes {:.2f} times as long as the first ({}).", ratio, by)
                   : fmt::format("The first takes {:.2f} times as long as the second ({}).", 1 / ratio, by);
}

/// Of what both do, that of which the slower one does more.
std::string work_text(const VariantComparison& comparison) {
  const bool second_slower = *comparison.ratio > 1;
  std::vector<std::string> texts;
  for (const CounterDifference& one : comparison.counters) {
    const double slow = second_slower ? one.second : one.first, fast = second_slower ? one.first : one.second;
    const bool work =
        std::ranges::any_of(kWork, [&](std::string_view prefix) { return one.name.starts_with(prefix); });
    if (!work || one.unit == "percent" || slow <= kInformative * fast || texts.size() >= kMaxNamed) continue;
    texts.push_back(
        fast > 0 ? fmt::format("{:.2f} times as much of {}", slow / fast, one.name)
                 : fmt::format("{} of {} where the other has none", profiler::short_number(slow), one.name));
  }
  if (texts.empty()) return "";
  return fmt::format(" The slower one, the {}, has {}.", second_slower ? "second" : "first",
                     fmt::join(texts, " and "));
}

std::string limits_text(const profiler::ProfiledLaunch& a, const profiler::ProfiledLaunch& b) {
  const profiler::Finding& first = a.analysis.bottleneck;
  const profiler::Finding& second = b.analysis.bottleneck;
  if (first.name == second.name) return fmt::format(" Both are limited by the same: {}.", first.title);
  const auto words = [](const profiler::Finding& finding) {
    return finding.evidence.empty() ? finding.title : fmt::format("{}: {}", finding.title, finding.evidence);
  };
  return fmt::format(" The first is limited otherwise ({}) than the second ({}).", words(first),
                     words(second));
}

std::string why_text(const VariantComparison& comparison, const std::vector<JudgedWorkload>& a,
                     const std::vector<JudgedWorkload>& b) {
  std::string text = ratio_text(comparison);
  std::vector<std::string> differing;
  for (const Difference& one : comparison.tunables)
    differing.push_back(fmt::format("{} ({}, {})", one.name, one.first, one.second));
  if (!comparison.source.empty()) differing.emplace_back("their source");
  text += differing.empty() ? " They are the same kernel."
                            : fmt::format(" They differ in {}.", fmt::join(differing, ", "));
  const auto* first = a.empty() ? nullptr : profiler::longest(a.front().launches);
  const auto* second = b.empty() ? nullptr : profiler::longest(b.front().launches);
  const bool measured =
      first && second && first->analysis.basis != "facts" && second->analysis.basis != "facts";
  if (!measured)
    return text + " Why the times differ cannot be said: not both were counted or profiled there.";
  if (comparison.ratio && *comparison.ratio != 1) text += work_text(comparison);
  return text + limits_text(*first, *second);
}

std::string name_of(const StoredKernel& kernel) {
  return fmt::format("variant {} ({}) on {} for {}", kernel.stored.variant, kernel.candidate.name,
                     kernel.stored.device.name, kernel.stored.arch.sm());
}

std::string cell_of(const Measurement* m) {
  if (m == nullptr) return "-";
  if (m->method == kEmulatedMethod) return codegen::time_text(m->median_ns);
  return fmt::format("{} [{}, {}]", codegen::time_text(m->median_ns), codegen::time_text(m->ci_low_ns),
                     codegen::time_text(m->ci_high_ns));
}

std::string table(const std::string& title, const std::vector<Difference>& rows) {
  if (rows.empty()) return "";
  std::string text = title + "\n";
  for (const Difference& row : rows)
    text += fmt::format("  {:<24} {:<32} {}\n", row.name, row.first, row.second);
  return text;
}

Json rows_json(const std::vector<Difference>& rows) {
  Json list = Json::array();
  for (const Difference& row : rows)
    list.push_back({{"name", row.name}, {"first", row.first}, {"second", row.second}});
  return list;
}

Json time_json(const Measurement* m) {
  if (m == nullptr) return nullptr;
  return {{"median_ns", m->median_ns}, {"ci_low_ns", m->ci_low_ns}, {"ci_high_ns", m->ci_high_ns}};
}

Json kernel_json(const StoredKernel& kernel) {
  const auto& score = kernel.stored.result.score_ns;
  return {{"variant", kernel.stored.variant},
          {"template", kernel.candidate.name},
          {"device", kernel.stored.device.name},
          {"arch", kernel.stored.arch.sm()},
          {"status", to_string(kernel.stored.result.outcome.status)},
          {"score_ns", score ? Json(*score) : Json()},
          {"tunables", kernel.candidate.tunables}};
}

}  // namespace

VariantComparison compare_variants(const std::filesystem::path& database, const StoredKernel& first,
                                   const StoredKernel& second) {
  VariantComparison comparison;
  comparison.times = times_of(first, second);
  const auto& a = first.stored.result.score_ns;
  const auto& b = second.stored.result.score_ns;
  if (same_place(first, second)) {
    comparison.pairs = pairs_of(database, first, second);
    if (comparison.pairs) {
      comparison.basis = "pairs";
      comparison.ratio = comparison.pairs->ratio.ratio;
    } else if (a && b && *a > 0) {
      comparison.basis = first.stored.device.kind == DeviceKind::emulator ? "estimated costs" : "medians";
      comparison.ratio = *b / *a;
    }
  }
  comparison.source = unified_diff(first.candidate.source, second.candidate.source, kMaxDiffLines);
  comparison.tunables = tunables_of(first.candidate, second.candidate);
  for (const Workload& workload : first.problem->workloads)
    if (measurement_of(first, workload.name))
      add(comparison.launches, workload.name, launches_text(first, workload),
          launches_text(second, workload));
  comparison.resources = resources_of(first.stored.result, second.stored.result);
  const auto judged_first = judged_workloads(first), judged_second = judged_workloads(second);
  for (const JudgedWorkload& one : judged_first) {
    const auto other = std::ranges::find(judged_second, one.workload, &JudgedWorkload::workload);
    if (other != judged_second.end()) add_counters(one, *other, comparison.counters);
  }
  std::ranges::stable_sort(comparison.counters, std::greater{}, weight_of);
  if (comparison.counters.size() > kMaxDifferences) comparison.counters.resize(kMaxDifferences);
  comparison.bottlenecks[0] = bottlenecks_of(judged_first);
  comparison.bottlenecks[1] = bottlenecks_of(judged_second);
  comparison.why = why_text(comparison, judged_first, judged_second);
  return comparison;
}

std::string comparison_text(const VariantComparison& comparison, const StoredKernel& first,
                            const StoredKernel& second) {
  std::string text =
      fmt::format("first:  {}\nsecond: {}\n\n{}\n\n", name_of(first), name_of(second), comparison.why);
  if (!comparison.times.empty())
    text += fmt::format("times{}\n", first.stored.device.kind == DeviceKind::emulator
                                         ? ": costs estimated on the CPU device, no GPU times"
                                         : ": medians with their 95 % intervals");
  for (const TimeComparison& time : comparison.times)
    text += fmt::format("  {:<24} {:<32} {}\n", time.workload, cell_of(time.first), cell_of(time.second));
  if (comparison.pairs) text += fmt::format("  in pairs: the second is {}\n", comparison.pairs->text());
  text += table("tunables", comparison.tunables) + table("launches", comparison.launches) +
          table("resources", comparison.resources);
  if (!comparison.counters.empty()) text += "counters, the largest differences\n";
  for (const CounterDifference& one : comparison.counters)
    text += fmt::format("  {:<24} {:<32} {:<12} {} on {}\n", one.name, profiler::short_number(one.first),
                        profiler::short_number(one.second), one.unit, one.workload);
  for (const int which : {0, 1})
    for (const std::string& bottleneck : comparison.bottlenecks[which])
      text += fmt::format("{} is limited by {}\n", which == 0 ? "first" : "second", bottleneck);
  return text + (comparison.source.empty() ? "source: the same\n" : "source\n" + comparison.source);
}

Json comparison_json(const VariantComparison& comparison, const StoredKernel& first,
                     const StoredKernel& second) {
  Json json{{"first", kernel_json(first)},
            {"second", kernel_json(second)},
            {"basis", comparison.basis},
            {"ratio", comparison.ratio ? Json(*comparison.ratio) : Json()},
            {"why", comparison.why},
            {"tunables", rows_json(comparison.tunables)},
            {"launches", rows_json(comparison.launches)},
            {"resources", rows_json(comparison.resources)},
            {"source", comparison.source},
            {"bottlenecks", {{"first", comparison.bottlenecks[0]}, {"second", comparison.bottlenecks[1]}}}};
  json["pairs"] = nullptr;
  if (comparison.pairs)
    json["pairs"] = {{"ratio", comparison.pairs->ratio.ratio},
                     {"low", comparison.pairs->ratio.interval.low},
                     {"high", comparison.pairs->ratio.interval.high}};
  json["times"] = json["counters"] = Json::array();
  for (const TimeComparison& time : comparison.times)
    json["times"].push_back(
        {{"workload", time.workload}, {"first", time_json(time.first)}, {"second", time_json(time.second)}});
  for (const CounterDifference& one : comparison.counters)
    json["counters"].push_back({{"workload", one.workload},
                                {"name", one.name},
                                {"unit", one.unit},
                                {"first", one.first},
                                {"second", one.second}});
  return json;
}

}  // namespace ak::app
