// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/bottleneck_rules.h"

namespace ak::profiler {
namespace {

constexpr double kSame = 1.03;       // gains closer than this are one
constexpr double kWorthwhile = 1.1;  // a cause that promises less is not worth naming before a limit
constexpr double kSymptom = 1.25;    // by so much a symptom must promise more than a cause

constexpr std::string_view kClause = "; ";

// How much work a unit did: rate = work over time, and its peak follows from the used share.
struct UnitWork {
  std::string_view unit, quantity;
  double scale;  // to `words` when divided by nanoseconds
  std::string_view words;
};
constexpr UnitWork kUnitWork[] = {
    {"dram", "dram/bytes", 1, "GB/s"},
    {"l2", "l2/sectors", 32, "GB/s"},
    {"shared", "shared/wavefronts", 128, "GB/s"},
    {"issue", "inst/warp", 1, "warp instructions/ns"},
    {"fp32", "inst/thread/fp32", 1, "instructions/ns"},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string missing(const Rule& rule, const Quantities& quantities) {
  for (const std::string_view need : words_of(rule.needs)) {
    if (!quantities.has(need)) return std::string(need);
  }
  return "";
}

std::vector<Advice> advice(const Rule& rule, const Quantities& quantities) {
  std::vector<Advice> remedies;
  for (const Remedy& remedy : rule.remedies) {
    if (remedy.text.empty() || (remedy.fits != nullptr && !remedy.fits(quantities))) continue;
    const auto bound = remedy.bound != nullptr ? remedy.bound : rule.bound;
    remedies.push_back({filled(remedy.text, quantities), bound(quantities)});
  }
  std::ranges::stable_sort(remedies, std::greater{}, &Advice::at_most);
  return remedies;
}

// What the rule was judged by: "dram/throughput = 98.3".
std::string needs_text(const Rule& rule, const Quantities& quantities) {
  std::string text;
  for (const std::string_view need : words_of(rule.needs))
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", need, short_number(quantities[need]));
  return text;
}

// Clauses of the evidence whose number is not known are left out; never all that there is.
std::string evidence_of(const Rule& rule, const Quantities& quantities) {
  std::string text;
  std::string_view rest = rule.evidence;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kClause), rest.size());
    const std::string clause = filled(rest.substr(0, end), quantities);
    rest.remove_prefix(std::min(end + kClause.size(), rest.size()));
    if (clause.find('?') == std::string::npos) text += (text.empty() ? "" : std::string(kClause)) + clause;
  }
  return text.empty() ? needs_text(rule, quantities) : text;
}

Finding finding_of(const Rule& rule, const Quantities& quantities) {
  return {.name = std::string(rule.name),
          .title = std::string(rule.title),
          .evidence = evidence_of(rule, quantities),
          .source = std::string(rule.source),
          .at_most = rule.bound(quantities),
          .sure = rule.sure_with.empty() || quantities.has(rule.sure_with),
          .remedies = advice(rule, quantities)};
}

// What decides between findings: first the rank, then the gain.
struct Weight {
  int rank;  // 3: worth doing, 2: a limit, 1: worth little, 0: a guess
  double gain;
};

Weight weight_of(const Finding& finding) {
  const RuleKind kind = find_rule(finding.name)->kind;
  const double gain = finding.at_most / (kind == RuleKind::symptom ? kSymptom : 1);
  if (!finding.sure) return {0, gain};
  if (kind == RuleKind::limit) return {2, gain};
  return {gain >= kWorthwhile ? 3 : 1, gain};
}

bool named_before(const Finding& a, const Finding& b) {
  const Weight one = weight_of(a), other = weight_of(b);
  return one.rank == other.rank ? one.gain > kSame * other.gain : one.rank > other.rank;
}

Finding unclear(const Quantities& quantities) {
  const Unit* unit = quantities.busiest_unit();
  return {.name = "unclear",
          .title = "no rule names what limits this kernel",
          .evidence = unit == nullptr ? "nothing was measured"
                                      : fmt::format("the busiest unit, {}, is used for {} %", unit->words,
                                                    short_number(quantities[unit->metric])),
          .source = "",
          .sure = unit != nullptr,
          .remedies = {}};
}

std::vector<UnitUse> uses_of(const Quantities& quantities) {
  std::vector<UnitUse> uses;
  for (const Unit& unit : units()) {
    if (!quantities.has(unit.metric)) continue;
    UnitUse use{unit.name, unit.words, quantities[unit.metric], {}, {}, ""};
    const auto* work = std::ranges::find(kUnitWork, unit.name, &UnitWork::unit);
    if (work != std::ranges::end(kUnitWork) && use.percent > 0) {
      const double rate = work->scale * quantities[work->quantity] / quantities["time/duration"];
      if (std::isfinite(rate)) use.rate = rate, use.peak = 100 * rate / use.percent, use.unit = work->words;
    }
    uses.push_back(use);
  }
  std::ranges::stable_sort(uses, std::greater{}, &UnitUse::percent);
  return uses;
}

std::string basis_of(const AnalysisInput& input) {
  if (input.launch.metrics.empty()) return "facts";
  return input.method == "emulator" ? "counts" : "counters";
}

void add_speed_of_light(Analysis& analysis, const AnalysisInput& input) {
  if (!input.floor.known() || !input.time_ns) return;
  analysis.times_speed_of_light = (Nanoseconds(*input.time_ns) / input.floor.time).value();
  analysis.speed_of_light = input.floor.reason;
}

}  // namespace

std::string short_number(double value) {
  constexpr std::pair<double, std::string_view> kPrefixes[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}};
  if (!std::isfinite(value)) return "?";
  for (const auto& [size, letter] : kPrefixes) {
    if (std::abs(value) >= size) return fmt::format("{:.3g}{}", value / (letter == "k" ? 1e3 : size), letter);
  }
  return std::abs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string filled(std::string_view text, const Quantities& quantities) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) break;
    result += short_number(quantities[text.substr(1, close - 1)]);
    text.remove_prefix(close + 1);
  }
  return result + std::string(text);
}

Analysis analyze(const AnalysisInput& input) {
  const Quantities quantities(input);
  Analysis analysis;
  analysis.kernel = input.launch.kernel;
  analysis.basis = basis_of(input);
  analysis.bottleneck = unclear(quantities);
  std::vector<Finding> found;
  for (const Rule& rule : bottleneck_rules()) {
    const std::string need = missing(rule, quantities);
    if (!need.empty()) {
      analysis.not_judged.push_back(fmt::format("{} (no {})", rule.name, need));
    } else if (rule.holds(quantities)) {
      found.push_back(finding_of(rule, quantities));
    }
  }
  if (!found.empty()) {
    auto named = found.begin();
    for (auto one = found.begin(); one != found.end(); ++one) {
      if (named_before(*one, *named)) named = one;
    }
    analysis.bottleneck = std::move(*named);
    found.erase(named);
  }
  std::ranges::stable_sort(found, std::greater{}, &Finding::at_most);
  analysis.others = std::move(found);
  analysis.units = uses_of(quantities);
  add_speed_of_light(analysis, input);
  return analysis;
}

}  // namespace ak::profiler
