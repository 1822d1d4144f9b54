// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/compare/subject_comparison.h"
#include "codegen/emit/markdown.h"

namespace ak::app {
namespace {

std::string number_text(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "-";
  if (unit.empty()) return fmt::format("{:.0f}", *value);
  if (unit == "USD") return fmt::format("{:.4f} USD", *value);
  return fmt::format("{:.{}f} {}", *value, unit == "us" ? 3 : 1, unit);
}

std::string cost_name(const SubjectComparison& comparison, const ComparedMetric& metric) {
  const bool cost = comparison.estimated && metric.unit == "us";
  return metric.name + (cost ? " (estimated cost)" : "");
}

std::string tests_text(const SubjectComparison& comparison) {
  if (!comparison.test) return "";
  return fmt::format("sign test p = {:.2g}, signed-rank test p = {:.2g}", comparison.test->sign_p,
                     comparison.test->wilcoxon_p);
}

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json test_json(const PairedTest& test) {
  return {{"pairs", test.pairs},
          {"wins", test.wins},
          {"losses", test.losses},
          {"ties", test.ties},
          {"ratio", test.ratio},
          {"low", test.interval.low},
          {"high", test.interval.high},
          {"sign_p", test.sign_p},
          {"signed_rank_p", test.wilcoxon_p},
          {"more_than_chance", test.beyond_chance()}};
}

Json side_json(const ComparedSubject& subject, const std::string& words) {
  return {{"kind", to_string(subject.kind)}, {"name", subject.name}, {"is", words}};
}

}  // namespace

std::string subject_comparison_text(const SubjectComparison& comparison) {
  std::string text = fmt::format("first:  {}\nsecond: {}\n\n{}\n", comparison.first_is, comparison.second_is,
                                 comparison.verdict);
  if (comparison.test)
    text += fmt::format("A pair: {}; {}{}.\n", comparison.pair_is,
                        comparison.estimated ? "costs estimated on the CPU device, no GPU times; " : "",
                        tests_text(comparison));
  for (const std::string& note : comparison.notes) text += note + "\n";
  text += fmt::format("\n{:<44} {:>20} {:>20}\n", "", "first", "second");
  for (const ComparedMetric& metric : comparison.metrics)
    text += fmt::format("{:<44} {:>20} {:>20}\n", cost_name(comparison, metric),
                        number_text(metric.first, metric.unit), number_text(metric.second, metric.unit));
  if (!comparison.by_definition.empty()) text += "\nsecond over first, by definition\n";
  for (const DefinitionPairs& one : comparison.by_definition)
    text += fmt::format("  {:<42} {:.4f} [{:.4f}, {:.4f}] of {} pairs\n", one.definition, one.test.ratio,
                        one.test.interval.low, one.test.interval.high, one.test.pairs);
  return text;
}

std::string subject_comparison_markdown(const SubjectComparison& comparison) {
  using codegen::markdown_cell;
  std::string text =
      fmt::format("# Comparison\n\n- first: {}\n- second: {}\n\n{}\n\n", markdown_cell(comparison.first_is),
                  markdown_cell(comparison.second_is), markdown_cell(comparison.verdict));
  if (comparison.test)
    text += fmt::format("A pair: {}; {}{}.\n\n", comparison.pair_is,
                        comparison.estimated ? "costs estimated on the CPU device, no GPU times; " : "",
                        tests_text(comparison));
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", markdown_cell(note));
  text += "\n| | first | second |\n|---|---:|---:|\n";
  for (const ComparedMetric& metric : comparison.metrics)
    text += fmt::format("| {} | {} | {} |\n", markdown_cell(cost_name(comparison, metric)),
                        number_text(metric.first, metric.unit), number_text(metric.second, metric.unit));
  if (comparison.by_definition.empty()) return text;
  text += "\n| definition | second over first | 99 % interval | pairs |\n|---|---:|---:|---:|\n";
  for (const DefinitionPairs& one : comparison.by_definition)
    text += fmt::format("| {} | {:.4f} | {:.4f} to {:.4f} | {} |\n", markdown_cell(one.definition),
                        one.test.ratio, one.test.interval.low, one.test.interval.high, one.test.pairs);
  return text;
}

Json subject_comparison_json(const SubjectComparison& comparison) {
  Json json{{"first", side_json(comparison.first, comparison.first_is)},
            {"second", side_json(comparison.second, comparison.second_is)},
            {"verdict", comparison.verdict},
            {"measure", comparison.estimated ? "estimated_cost" : "gpu_time"},
            {"pair", comparison.pair_is},
            {"notes", comparison.notes}};
  if (comparison.test) json["test"] = test_json(*comparison.test);
  json["figures"] = json["by_definition"] = json["pairs"] = Json::array();
  for (const ComparedMetric& metric : comparison.metrics)
    json["figures"].push_back({{"name", metric.name},
                               {"unit", metric.unit},
                               {"first", number_json(metric.first)},
                               {"second", number_json(metric.second)}});
  for (const DefinitionPairs& one : comparison.by_definition)
    json["by_definition"].push_back({{"definition", one.definition}, {"test", test_json(one.test)}});
  for (const db::MatchedPair& pair : comparison.pairs)
    json["pairs"].push_back({{"definition", pair.definition},
                             {"what", pair.what},
                             {"first_ns", pair.first_ns},
                             {"second_ns", pair.second_ns}});
  return json;
}

}  // namespace ak::app
