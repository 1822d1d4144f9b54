// SPDX-License-Identifier: Apache-2.0
#include "app/sets/set_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/evaluate/figure_texts.h"
#include "codegen/emit/markdown.h"

namespace ak::app {
namespace {

double percent(double ratio) { return 100 * (ratio - 1); }

std::string regret_text(const SetReport& report) {
  const auto& regret = report.record.regret;
  if (!regret) return "not measured on held-out shapes";
  return fmt::format(
      "on {} held-out shapes what it chose was {:.1f} % slower than the best of its members "
      "(95 % interval {:.1f} to {:.1f} %), at worst {:.1f} %",
      regret->shapes, percent(regret->mean_ratio), percent(regret->interval.low),
      percent(regret->interval.high), percent(regret->worst_ratio));
}

std::string copies_text(const SetReport& report) {
  const std::size_t copies = report.record.prepared_copies;
  if (copies == 0) return "";
  return copies == 1 ? "its members read one prepared copy of the weights"
                     : fmt::format("its members read {} prepared copies of the weights", copies);
}

/// "held_out_3: M=4 N=77": names of drawn shapes say nothing.
std::string shape_text(const Workload& workload) {
  std::string text = workload.name + ":";
  for (const auto& [axis, size] : workload.axes) text += fmt::format(" {}={}", axis, size);
  return text;
}

std::string shapes_table(const SetReport& report, bool held_out) {
  std::string rows;
  for (const SetShapeRecord& shape : report.record.shapes)
    if (shape.held_out == held_out)
      rows +=
          fmt::format("| {} | {} | {} | {} | {:.3f} |\n", codegen::markdown_cell(shape_text(shape.workload)),
                      shape.member, format_ns(shape.member_ns), format_ns(shape.best_ns),
                      shape.member_ns / shape.best_ns);
  return rows;
}

Json shape_json(const SetShapeRecord& shape) {
  Json json{{"workload", shape.workload.name},
            {"shape", shape.workload.axes},
            {"held_out", shape.held_out},
            {"member", shape.member},
            {"member_ns", shape.member_ns},
            {"best_ns", shape.best_ns},
            {"ratio", shape.member_ns / shape.best_ns}};
  json["best_variant"] = shape.best_variant ? Json(*shape.best_variant) : Json();
  return json;
}

}  // namespace

std::string set_sentence(const SetReport& report) {
  const SetRecord& record = report.record;
  const auto timed = std::ranges::count(record.shapes, false, &SetShapeRecord::held_out);
  return fmt::format(
      "{} member{}, {:.1f} % slower than the best known point of each of {} shape{} (at worst {:.1f} %)",
      record.members.size(), record.members.size() == 1 ? "" : "s", percent(record.mean_ratio), timed,
      timed == 1 ? "" : "s", percent(record.worst_ratio));
}

std::vector<std::string> set_lines(const SetReport& report) {
  std::vector<std::string> lines{"set: " + set_sentence(report)};
  for (const std::string& line : codegen::rule_lines(report.kernels)) lines.push_back("  " + line);
  lines.push_back("  " + regret_text(report));
  if (const std::string copies = copies_text(report); !copies.empty()) lines.push_back("  " + copies);
  if (!report.record.within_limits) lines.push_back("  no set of so few members comes closer");
  for (const std::string& note : report.notes) lines.push_back("  note: " + note);
  return lines;
}

std::string set_section(const SetReport& report) {
  std::string text =
      fmt::format("## Which kernel takes which shape\n\nA set of {}.\n\n", set_sentence(report));
  for (const std::string& line : codegen::rule_lines(report.kernels))
    text += fmt::format("- {}\n", codegen::markdown_code(line));
  const std::string what = report.emulated ? "cost" : "time";
  const std::string head =
      fmt::format("\n| shape | member | its {0} | best known {0} | ratio |\n|---|---|---|---|---|\n", what);
  text += head + shapes_table(report, false);
  text += fmt::format("\nFor shapes never seen: {}.\n", regret_text(report));
  if (const std::string rows = shapes_table(report, true); !rows.empty()) text += head + rows;
  if (const std::string copies = copies_text(report); !copies.empty())
    text += fmt::format("\nOf the weights {}.\n", copies);
  for (const std::string& note : report.notes)
    text += fmt::format("\nNote: {}.\n", codegen::markdown_cell(note));
  return text + "\n";
}

Json set_json(const SetReport& report) {
  const SetRecord& record = report.record;
  Json json{{"id", report.set},
            {"rule", codegen::rule_lines(report.kernels)},
            {"mean_ratio", record.mean_ratio},
            {"worst_ratio", record.worst_ratio},
            {"within_limits", record.within_limits},
            {"prepared_copies", record.prepared_copies},
            {"notes", report.notes}};
  json["members"] = Json::array();
  for (std::size_t i = 0; i < record.members.size(); ++i) {
    const Candidate& member = report.kernels.members[i].candidate;
    json["members"].push_back({{"number", i + 1},
                               {"template", member.name},
                               {"tunables", Json(member.tunables)},
                               {"variant", record.members[i].variant},
                               {"shapes", record.members[i].condition},
                               {"fallback", record.members[i].fallback}});
  }
  json["shapes"] = Json::array();
  for (const SetShapeRecord& shape : record.shapes) json["shapes"].push_back(shape_json(shape));
  json["regret"] = nullptr;
  if (record.regret)
    json["regret"] = {{"shapes", record.regret->shapes},
                      {"mean_ratio", record.regret->mean_ratio},
                      {"low", record.regret->interval.low},
                      {"high", record.regret->interval.high},
                      {"worst_ratio", record.regret->worst_ratio}};
  return json;
}

}  // namespace ak::app
