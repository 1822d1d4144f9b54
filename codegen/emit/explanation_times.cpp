// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/explanation_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codegen/emit/markdown.h"
#include "core/device/floor.h"
#include "core/plan/work.h"

namespace ak::codegen {
namespace {

constexpr const char* kHeadOfTimes =
    "| shape | median | 95 % interval | samples | floor | floor / median | GB/s | TFLOP/s | baselines |\n"
    "|---|---|---|---|---|---|---|---|---|\n";

constexpr const char* kColdAndWarm =
    "Cold: the L2 cache is flushed before every sample, as when other kernels ran in between; the score is "
    "of "
    "these times. Warm: the call before has left its data in L2, as when the kernel is called in a loop. A "
    "floor counts what a call reads from device memory, so a warm time has none.\n";

std::string emulated_costs(const EvaluationResult& result) {
  std::string text =
      "## Emulated cost\n\nAn estimate, not a GPU time.\n\n| shape | which | emulated cost "
      "|\n|---|---|---|\n";
  for (const Measurement& m : result.measurements)
    text += fmt::format("| {} | {} | {} |\n", markdown_cell(m.workload),
                        m.role == MeasurementRole::candidate ? "this kernel" : markdown_cell(m.label),
                        time_text(m.median_ns));
  return text + "\n";
}

/// Writes the times of one kernel.
struct TimesWriter {
  const ProblemInstance& problem;
  const EvaluationResult& result;
  const RunSummary& run;

  [[nodiscard]] std::string baselines(const Measurement& m) const {
    std::string text;
    for (const Measurement& other : result.measurements)
      if (other.role == MeasurementRole::baseline && other.workload == m.workload && other.cold == m.cold &&
          other.median_ns > 0)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", markdown_cell(other.label),
                            time_text(other.median_ns));
    return text.empty() ? "-" : text;
  }

  [[nodiscard]] std::string row(const Measurement& m, const Workload& shape) const {
    const Result<Work> known = work_of(problem, shape);
    const Work work = known ? *known : Work{};
    const Floor floor = floor_of(problem, shape, run.facts);
    const bool compared = m.cold && floor.known();
    return fmt::format("| {}{} | {} | {} to {} | {} | {} | {} | {:.1f} | {:.3f} | {} |\n",
                       markdown_cell(m.workload), m.cold ? "" : ", warm", time_text(m.median_ns),
                       time_text(m.ci_low_ns), time_text(m.ci_high_ns), m.samples_ns.size(),
                       compared ? time_text(floor.time.value()) : "-",
                       compared ? part_of_floor(m.median_ns, floor.time.value()) : "-",
                       work.bytes / m.median_ns, work.flops / m.median_ns / 1e3, baselines(m));
  }

  /// A line for every limit, with the shapes that it is the floor of.
  [[nodiscard]] std::string floors(const std::vector<const Workload*>& shapes) const {
    std::string text;
    for (const Workload* shape : shapes)
      if (const Floor floor = floor_of(problem, *shape, run.facts); floor.known())
        text += fmt::format("- {}: {}\n", markdown_cell(shape->name), markdown_cell(floor.reason));
    if (text.empty()) return "";
    return "The floor is the minimum time that this device needs for the work of one call:\n\n" + text + "\n";
  }

  [[nodiscard]] std::string notes(const std::vector<const Measurement*>& own) const {
    std::string text;
    std::map<std::string, std::vector<std::string>> slowed;
    for (const Measurement* m : own) {
      if (m->truncated)
        text += fmt::format("{}: stopped before the error target was reached.\n", markdown_cell(m->workload));
      if (!m->throttle_reasons.empty()) slowed[m->throttle_reasons].push_back(markdown_cell(m->workload));
    }
    for (const auto& [reason, shapes] : slowed)
      text += fmt::format("Clocks were reduced while measuring ({}): {}.\n", markdown_cell(reason),
                          fmt::join(shapes, ", "));
    if (!run.energy.empty()) text += fmt::format("Energy: {}.\n", markdown_cell(run.energy));
    for (const std::string& bottleneck : run.bottlenecks)
      if (run.parts.limits.empty()) text += fmt::format("What limits it: {}.\n", markdown_cell(bottleneck));
    for (const std::string& cross_check : run.duration_checks)
      text += fmt::format("Cross-check of the time: {}.\n", markdown_cell(cross_check));
    return text;
  }

  [[nodiscard]] std::string write() const {
    std::string rows;
    std::vector<const Measurement*> own;
    std::vector<const Workload*> shapes;
    bool warm = false;
    for (const Measurement& m : result.measurements) {
      const auto shape = std::ranges::find(problem.workloads, m.workload, &Workload::name);
      const bool known = shape != problem.workloads.end() && m.median_ns > 0;
      if (m.role != MeasurementRole::candidate || !known) continue;
      rows += row(m, *shape);
      own.push_back(&m);
      if (m.cold) shapes.push_back(&*shape);
      warm = warm || !m.cold;
    }
    const std::string formulas =
        fmt::format("The minimum work of one call: {} bytes read, {} bytes written, {} operations.\n",
                    markdown_code(problem.bytes_read.text()), markdown_code(problem.bytes_written.text()),
                    markdown_code(problem.flops.text()));
    if (own.empty()) return fmt::format("## Time\n\nNot measured.\n{}\n", formulas);
    return fmt::format("## Time\n\n{}GB/s and TFLOP/s are that work over the median.\n{}\n{}{}\n{}{}\n",
                       formulas, warm ? kColdAndWarm : "The L2 cache is flushed before every sample.\n",
                       kHeadOfTimes, rows, floors(shapes), notes(own));
  }
};

}  // namespace

std::string speed_text(double time_ns, double baseline_ns, const std::string& baseline) {
  if (time_ns <= baseline_ns)
    return fmt::format("{:.2f} times as fast as {} ({})", baseline_ns / time_ns, baseline,
                       time_text(baseline_ns));
  return fmt::format("slower than {} ({}): it takes {:.2f} times as long", baseline, time_text(baseline_ns),
                     time_ns / baseline_ns);
}

std::string times_section(const ProblemInstance& problem, const EvaluationResult& result,
                          const RunSummary& run) {
  return run.emulated ? prediction_section(run) + emulated_costs(result)
                      : TimesWriter{problem, result, run}.write();
}

}  // namespace ak::codegen
