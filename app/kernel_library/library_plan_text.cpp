// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/evaluate/figure_texts.h"
#include "app/kernel_library/library_plan.h"
#include "db/database.h"

namespace ak::app {
namespace {

std::string time_text(double us) { return us > 0 ? format_ns(us * kNsPerUs) : "-"; }

/// "31.4 us m": measured, predicted, estimated.
std::string sourced_text(const SourcedTime& time) {
  return time.known() ? fmt::format("{} {}", time_text(time.us), source_name(time.source).front()) : "-";
}

std::string axes_text(const AxisValues& axes) {
  std::string text;
  for (const auto& [name, size] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

/// Tables align numbers to the right.
double percent(double part) { return std::round(part * 1e3) / 10; }
double rounded(double factor) { return std::round(factor * 100) / 100; }

std::string step_table(const PlanStep& plan) {
  db::Table table{
      .columns = {"operator", "algorithm", "shape", "calls", "now", "library", "floor", "share %", "saved %"},
      .rows = {}};
  for (const PlanRow& row : plan.rows)
    table.rows.push_back({row.line.name, row.algorithm(), axes_text(row.line.axes), row.line.count,
                          sourced_text(row.times.now), sourced_text(row.times.library),
                          time_text(row.times.floor_us), percent(plan.share(row)), percent(plan.saved(row))});
  return db::render(table, db::TableFormat::table);
}

std::string other_lines(const PlanStep& plan) {
  std::string text;
  for (const PlanRow& row : plan.rows)
    if (!row.line.problem) text += fmt::format("  other: {}: {}\n", row.line.name, row.line.note);
  return text;
}

std::string step_sentence(const PlanStep& plan) {
  std::string text = fmt::format("  a step: {} now, {} with the library ({:.2f}x), {} at the floor ({:.2f}x)",
                                 time_text(plan.now_us), time_text(plan.library_us), plan.speedup(),
                                 time_text(plan.floor_us), plan.speedup_at_floor());
  if (plan.untimed > 0) text += fmt::format("; without {} operators of which nothing is known", plan.untimed);
  return text + "\n";
}

std::string all_steps(const LibraryPlan& plan) {
  db::Table table{
      .columns = {"step", "now", "library", "floor", "speedup", "speedup at floor", "dearest operators"},
      .rows = {}};
  for (const PlanStep& step : plan.steps) {
    std::vector<const PlanRow*> rows;
    for (const PlanRow& row : step.rows) rows.push_back(&row);
    std::ranges::stable_sort(rows, {}, [&](const PlanRow* row) { return -step.share(*row); });
    std::string dearest;
    for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 3); ++i)
      dearest +=
          fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", rows[i]->line.name, 100 * step.share(*rows[i]));
    table.rows.push_back({step.heading(), time_text(step.now_us), time_text(step.library_us),
                          time_text(step.floor_us), rounded(step.speedup()), rounded(step.speedup_at_floor()),
                          dearest});
  }
  return db::render(table, db::TableFormat::table);
}

/// What the letters behind times stand for here, each basis once.
std::string bases(const LibraryPlan& plan) {
  std::set<std::string> now, library;
  for (const PlanStep& step : plan.steps) {
    for (const PlanRow& row : step.rows) {
      if (row.times.now.known()) now.insert(fmt::format("{}: {}", row.algorithm(), row.times.now.basis));
      if (row.times.library.known()) library.insert(row.times.library.basis);
    }
  }
  std::string text =
      "m: measured, p: predicted, e: estimated, on the device alone: a host that is late is not counted\n";
  for (const std::string& basis : library) text += fmt::format("  library {}\n", basis);
  for (const std::string& basis : now) text += fmt::format("  now, {}\n", basis);
  return text;
}

}  // namespace

std::string plan_text(const LibraryPlan& plan) {
  const Geometry& geometry = plan.geometry;
  std::string text = fmt::format("{}: {} ({})", geometry.name, geometry.kind.name,
                                 to_string(geometry.values.find("model_type")->second));
  for (const GeometryText& word : geometry.kind.texts)
    text += fmt::format(", {} {}", word.name, to_string(geometry.values.find(word.name)->second));
  text += fmt::format("; times of {} ({})\n", plan.device.name, plan.device.arch.sm());
  for (const std::string& note : geometry.notes) text += fmt::format("note: {}\n", note);
  for (const PlanStep& step : plan.steps)
    text +=
        fmt::format("\n{}\n{}{}{}", step.heading(), step_table(step), step_sentence(step), other_lines(step));
  return text + "\n" + all_steps(plan) + "\n" + bases(plan);
}

}  // namespace ak::app
