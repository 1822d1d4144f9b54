// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/profile_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/suggest.h"
#include "profiler/analysis/metric_catalog.h"

namespace ak::profiler {
namespace {

constexpr std::size_t kMaxStalls = 5, kMaxLines = 8, kMaxOthers = 4;
constexpr std::string_view kStallMetrics = "stall/";

struct Row {
  std::string_view words, text;  ///< text with {quantity}; left out where the first of them is not known
};
constexpr Row kMemory[] = {
    {"device memory", "{dram/bytes} bytes, {dram/excess} times what the problem needs"},
    {"L2", "{l2/sectors} sectors"},
    {"L2 hit rate", "{l2/hit_rate} %"},
    {"L1 hit rate", "{l1/hit_rate} %"},
    {"global loads", "{global/load_sectors_per_request} sectors a request, {global/load_sector_use} % used"},
    {"global stores",
     "{global/store_sectors_per_request} sectors a request, {global/store_sector_use} % used"},
    {"global accesses", "{global/sectors_per_request} sectors a request, {global/sector_use} % used"},
    {"shared memory", "{shared/wavefronts} wavefronts, {shared/conflict_share} % of them conflicts"},
    {"local memory", "{local/sectors} sectors, {local/share} % of all"},
    {"atomics", "{atomic/any} requests"},
};
constexpr Row kInstructions[] = {
    {"instructions", "{inst/warp} of warps, {inst/active_threads} of 32 threads active"},
    {"integer", "{inst/integer_share} % of threads' instructions"},
    {"divergence", "{branch/divergent} branches that parted"},
};

std::string line(std::string_view words, std::string_view text) {
  return fmt::format("  {:<20}{}\n", words, text);
}

bool known(const Row& row, const Quantities& quantities) {
  const std::size_t open = row.text.find('{'), close = row.text.find('}');
  const std::string_view name = row.text.substr(open + 1, close - open - 1);
  return quantities.has(name) && quantities[name] > 0;
}

std::string section(std::string_view title, const std::string& lines) {
  return lines.empty() ? "" : fmt::format("\n {}\n{}", title, lines);
}

std::string rows(std::span<const Row> table, const Quantities& quantities) {
  std::string text;
  for (const Row& row : table) {
    if (known(row, quantities)) text += line(row.words, filled(row.text, quantities));
  }
  return text;
}

std::string bar(double percent) {
  constexpr std::size_t kWidth = 30;
  const auto full = static_cast<std::size_t>(std::lround(std::clamp(percent / 100, 0.0, 1.0) * kWidth));
  return std::string(full, '#') + std::string(kWidth - full, '.');
}

std::string unit_rows(const Analysis& analysis) {
  std::string text;
  for (const UnitUse& use : analysis.units) {
    if (use.percent < 0.5) continue;
    const std::string numbers =
        use.rate ? fmt::format("  {} of {} {}", short_number(*use.rate), short_number(*use.peak), use.unit)
                 : "";
    text += fmt::format("  {:<20}{:>5.1f} % {}{}\n", use.words, use.percent, bar(use.percent), numbers);
  }
  return text;
}

std::string occupancy_rows(const AnalysisInput& input, const Quantities& quantities) {
  std::string text =
      line("launch", fmt::format("{} blocks of {} threads", short_number(quantities["launch/blocks"]),
                                 short_number(quantities["launch/threads"])));
  if (input.occupancy) {
    text += line("fits", fmt::format("{} blocks per SM, {} % of its warps, limited by {}",
                                     input.occupancy->blocks_per_sm,
                                     short_number(100 * input.occupancy->ratio), input.occupancy->limiter));
    if (quantities.has("launch/waves")) text += line("waves", short_number(quantities["launch/waves"]));
  }
  if (quantities.has("occupancy/achieved")) {
    text += line("achieved", short_number(quantities["occupancy/achieved"]) + " % of the warps");
  }
  if (input.kernel.registers > 0) {
    text += line("registers", fmt::format("{} a thread, {} bytes spilled", input.kernel.registers,
                                          short_number(quantities["kernel/spill_bytes"])));
  }
  return text;
}

std::string_view meaning_of(const std::string& metric) {
  const MetricInfo* info = find_metric(metric);
  return info == nullptr ? "" : info->meaning.substr(0, info->meaning.find(','));
}

std::vector<std::pair<double, std::string>> stalls_of(const Quantities& quantities, const Metrics& metrics) {
  std::vector<std::pair<double, std::string>> stalls;
  for (const auto& [name, value] : metrics) {
    if (name.starts_with(kStallMetrics) && value > 0) {
      stalls.emplace_back(quantities["waiting/" + name.substr(kStallMetrics.size())], name);
    }
  }
  std::ranges::sort(stalls, std::greater{});
  if (stalls.size() > kMaxStalls) stalls.resize(kMaxStalls);
  return stalls;
}

std::string stall_rows(const Quantities& quantities, const Metrics& metrics) {
  std::string text;
  for (const auto& [share, name] : stalls_of(quantities, metrics)) {
    text +=
        fmt::format("  {:<20}{:>5.1f} %  {}\n", name.substr(kStallMetrics.size()), share, meaning_of(name));
  }
  return text;
}

std::string_view text_of_line(std::string_view source, int number) {
  for (int current = 1; !source.empty(); ++current) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    if (current == number) return source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return "";
}

std::uint64_t total(const LineSamples& line) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : line.samples) sum += count;
  return sum;
}

std::string main_reason(const LineSamples& line) {
  const auto most = std::ranges::max_element(line.samples, {}, [](const auto& one) { return one.second; });
  return most == line.samples.end() ? "" : most->first;
}

std::string line_rows(std::vector<LineSamples> lines, std::string_view source) {
  std::uint64_t all = 0;
  for (const LineSamples& one : lines) all += total(one);
  std::ranges::stable_sort(lines, std::greater{}, total);
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  std::string text;
  for (const LineSamples& one : lines) {
    std::string_view words = one.line > 0 ? text_of_line(source, one.line) : "(no line of the file)";
    words.remove_prefix(std::min(words.find_first_not_of(" \t"), words.size()));
    text += fmt::format(
        "  {:>5} {:>5.1f} %  {:<18}{}\n", one.line,
        100 * static_cast<double>(total(one)) / static_cast<double>(std::max<std::uint64_t>(1, all)),
        main_reason(one), sanitize(words.substr(0, 90)));
  }
  return text;
}

bool gains(double bound) { return bound > 1.005; }

std::string at_most(double bound) {
  return gains(bound) ? fmt::format("at most {:.2f} times faster", bound) : "nothing to gain that way";
}

std::string_view caution(const Analysis& analysis) {
  if (!analysis.bottleneck.sure) return " (a guess from the compiler's facts: nothing was measured)";
  return analysis.basis == "counts" ? " (by exact counts: the unit with the most work, since no GPU ran it)"
                                    : "";
}

std::string verdict(const Analysis& analysis) {
  const Finding& named = analysis.bottleneck;
  std::string text = fmt::format("\n bottleneck: {} - {}{}\n  {}\n", named.name, named.title,
                                 caution(analysis), named.evidence);
  if (named.name != "unclear")
    text += fmt::format("  {}{}; source: {}\n", gains(named.at_most) ? "without it " : "",
                        at_most(named.at_most), named.source);
  for (const Advice& advice : named.remedies)
    text += fmt::format("  - {} ({})\n", advice.text, at_most(advice.at_most));
  for (std::size_t i = 0; i < std::min(kMaxOthers, analysis.others.size()); ++i) {
    const Finding& other = analysis.others[i];
    text += fmt::format("  also {}: {} ({})\n", other.name, other.evidence, at_most(other.at_most));
  }
  if (!analysis.not_judged.empty()) {
    text += fmt::format("  not judged: {}\n", fmt::join(analysis.not_judged, ", "));
  }
  return text;
}

std::string launch_page(const ProfiledLaunch& launch, std::string_view method, std::string_view source) {
  const Quantities quantities(launch.input);
  const Metrics& metrics = launch.input.launch.metrics;
  std::string text = fmt::format("\n{}", sanitize(launch.input.launch.kernel));
  if (quantities.has("time/duration")) text += fmt::format(": {:.2f} us", quantities["time/duration"] / 1e3);
  text += "\n";
  text += section(method == "emulator" ? "units (by exact counts, of the busiest)" : "units (of their peak)",
                  unit_rows(launch.analysis));
  text += section("memory", rows(kMemory, quantities));
  text += section("instructions", rows(kInstructions, quantities));
  text += section("occupancy", occupancy_rows(launch.input, quantities));
  text += section("warps wait for", stall_rows(quantities, metrics));
  text += section("hot lines (of all samples)", line_rows(launch.input.launch.lines, source));
  return text + verdict(launch.analysis);
}

struct Change {
  std::string_view name, unit;
  double before, after, weight;
};

// Shares of a unit change by points; counts, which have no such scale, by their ratio: a quarter more or less
// weighs as much as 25 points.
double change_weight(std::string_view unit, double before, double after) {
  if (unit == "percent") return std::abs(after - before);
  if (before <= 0 || after <= 0) return before == after ? 0 : 100;
  return std::min(100.0, 100 * std::abs(after / before - 1));
}

std::vector<Change> changes_of(const Metrics& before, const Metrics& after) {
  std::vector<Change> changes;
  for (const MetricInfo& metric : catalog()) {
    const auto a = before.find(std::string(metric.name)), b = after.find(std::string(metric.name));
    if (a == before.end() || b == after.end() || metric.name == "time/duration") continue;
    const double weight = change_weight(metric.unit, a->second, b->second);
    if (weight >= 2) changes.push_back({metric.name, metric.unit, a->second, b->second, weight});
  }
  std::ranges::stable_sort(changes, std::greater{}, &Change::weight);
  return changes;
}

std::string difference(const Change& change) {
  if (change.unit == "percent") return fmt::format("{:+.1f} points", change.after - change.before);
  if (change.before <= 0) return "from none";
  return fmt::format("{:+.0f} %", 100 * (change.after / change.before - 1));
}

std::string compare_launch(const ProfiledLaunch& before, const ProfiledLaunch& after) {
  const Quantities a(before.input), b(after.input);
  std::string text = fmt::format("\n{}", sanitize(after.input.launch.kernel));
  if (a.has("time/duration") && b.has("time/duration")) {
    text += fmt::format(": {:.2f} -> {:.2f} us ({:.2f} times as fast)", a["time/duration"] / 1e3,
                        b["time/duration"] / 1e3, a["time/duration"] / b["time/duration"]);
  }
  const std::string& was = before.analysis.bottleneck.name;
  const std::string& is = after.analysis.bottleneck.name;
  text += was == is ? fmt::format("\n  bottleneck: {}, as before\n", is)
                    : fmt::format("\n  bottleneck: {} -> {}\n", was, is);
  for (const Change& change : changes_of(before.input.launch.metrics, after.input.launch.metrics)) {
    text += fmt::format("  {:<28}{:>10} -> {:<10}{}\n", change.name, short_number(change.before),
                        short_number(change.after), difference(change));
  }
  return text;
}

}  // namespace

std::string render_profile(const Profile& profile, std::span<const ProfiledLaunch> launches,
                           std::string_view source) {
  std::string text = fmt::format("profile of {} ({})\n", profile.workload,
                                 profile.method.empty() ? "nothing was measured" : profile.method);
  for (const std::string& note : profile.degradation) text += fmt::format("note: {}\n", note);
  const ProfiledLaunch* most = longest(launches);
  if (most != nullptr && most->analysis.times_speed_of_light) {
    text += fmt::format("{:.2f} us, {:.2f} times the minimum possible ({})\n", *most->input.time_ns / 1e3,
                        *most->analysis.times_speed_of_light, most->analysis.speed_of_light);
  }
  for (const ProfiledLaunch& launch : launches) text += launch_page(launch, profile.method, source);
  return text;
}

std::string render_comparison(std::span<const ProfiledLaunch> before, std::span<const ProfiledLaunch> after) {
  std::string text;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    text += compare_launch(before[i], after[i]);
  }
  if (before.size() != after.size()) {
    text += fmt::format("\n{} launches before, {} after: the others have no counterpart\n", before.size(),
                        after.size());
  }
  return text;
}

}  // namespace ak::profiler
