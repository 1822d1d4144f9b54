// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/run_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/evaluate/figure_texts.h"
#include "app/predict/target_prediction.h"
#include "codegen/export/export.h"
#include "core/device/energy_metrics.h"
#include "core/error.h"
#include "core/learn/stats.h"
#include "core/plan/work.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/shown_text.h"

namespace ak::app {
namespace {

Json kernel_json(const KernelFacts& kernel) {
  return {{"kernel", kernel.expression},
          {"registers", kernel.registers},
          {"static_shared_bytes", kernel.static_shared_bytes},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"stack_bytes", kernel.stack_bytes}};
}

Json check_json(const CheckRecord& check) {
  return {{"workload", check.workload},
          {"distribution", check.distribution},
          {"seed", check.seed},
          {"tensor", check.tensor},
          {"passed", check.passed},
          {"max_error", check.max_error},
          {"mean_error", check.mean_error},
          {"tolerance", check.tolerance},
          {"worst_index", check.worst_index},
          {"nonfinite_mismatches", check.nonfinite_mismatches}};
}

Json diagnostic_json(const Diagnostic& d) {
  Json json{{"severity", d.severity}, {"line", d.line}, {"column", d.column}, {"message", d.message}};
  if (!d.details.empty()) json["details"] = parse_json(d.details);
  return json;
}

Json measurement_json(const Measurement& m) {
  Json json{{"workload", m.workload},
            {"role", to_string(m.role)},
            {"label", m.label},
            {"method", m.method},
            {"cold", m.cold},
            {"samples", m.samples_ns.size()},
            {"median_ns", m.median_ns},
            {"ci_low_ns", m.ci_low_ns},
            {"ci_high_ns", m.ci_high_ns},
            {"truncated", m.truncated}};
  if (m.prepared_bytes > 0) json["preparation"] = {{"time_ns", m.prepare_ns}, {"bytes", m.prepared_bytes}};
  if (m.counts.empty()) return json;
  json["counts"] = m.counts;
  json["lines"] = Json::array();
  for (const auto& [line, counts] : m.line_counts)
    json["lines"].push_back({{"line", line}, {"counts", counts}});
  return json;
}

/// Null when no one asked; without figures, but with the reason, when it could not be measured.
Json energy_json(const ProblemInstance& problem, const EvaluationResult& result) {
  for (const Measurement& m : result.measurements) {
    if (!m.energy) continue;
    Json json{
        {"workload", m.workload}, {"calls", m.energy->calls}, {"absence", m.energy->unavailable_reason}};
    for (const EnergyMetric& metric : energy_metrics(problem, m))
      json[std::string(metric.name.substr(metric.name.find('/') + 1))] = {{"value", metric.value},
                                                                          {"unit", metric.unit}};
    return json;
  }
  return nullptr;
}

Json tunables_json(const TunableValues& tunables) {
  Json json = Json::object();
  for (const auto& [name, value] : tunables) json[name] = value;
  return json;
}

/// "16 of 16 checks passed (8 shapes, 350 ms and 1200 ms for inputs and references)".
std::string checks_line(const EvaluationResult& result, int passed) {
  std::set<std::string> shapes;
  for (const CheckRecord& check : result.checks) shapes.insert(check.workload);
  const StageTimes& times = result.stage_times;
  return fmt::format(
      "  {} of {} checks passed ({} shape{}, {:.0f} ms and {:.0f} ms for inputs and references)\n", passed,
      result.checks.size(), shapes.size(), shapes.size() == 1 ? "" : "s",
      std::max(0.0, times.check_ms - times.reference_ms), times.reference_ms);
}

double bytes_moved(const ProblemInstance& problem, const std::string& workload_name) {
  for (const Workload& workload : problem.workloads) {
    if (workload.name != workload_name) continue;
    const Result<Work> work = work_of(problem, workload);
    return work ? work->bytes : 0;
  }
  return 0;
}

/// False where the kernel cannot be called from C++; what an earlier kernel left there goes.
bool write_launcher(const OutputPaths& paths, const ProblemInstance& problem, const Completed& best) {
  const Result<std::string> text = codegen::launch_header(problem, best.request.candidate, best.request.arch,
                                                          paths.kernel.filename().string());
  std::error_code gone;
  if (text) write_file_atomically(paths.launcher, *text);
  if (!text) std::filesystem::remove(paths.launcher, gone);
  return text.ok();
}

}  // namespace

OutputPaths run_paths(const std::filesystem::path& output) {
  const auto sibling = [&](const char* suffix) {
    return output.parent_path() / (output.stem().string() + suffix);
  };
  return {output, sibling(".explanation.md"), sibling(".test.cu"), sibling(".result.json"),
          sibling(".launch.cuh")};
}

OutputPaths output_paths(const std::filesystem::path& output) {
  if (output.extension() != ".cu")
    fail(ExitCode::usage, "--output {}: expected a file name ending in .cu", output.string());
  const auto folder = output.has_parent_path() ? output.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder))
    fail(ExitCode::output, "--output {}: the folder {} does not exist", output.string(), folder.string());
  if (::access(folder.c_str(), W_OK) != 0)
    fail(ExitCode::output, "--output {}: the folder {} is not writable", output.string(), folder.string());
  if (std::filesystem::is_directory(output))
    fail(ExitCode::output, "--output {}: it is a folder", output.string());
  const OutputPaths paths = run_paths(output);
  for (const auto& file : paths.all()) require_writable(file);
  return paths;
}

void write_kernel_files(const OutputPaths& paths, const ProblemInstance& problem, const Completed& best,
                        const codegen::RunSummary& run) {
  const Candidate& candidate = best.request.candidate;
  const std::string name = paths.kernel.filename().string();
  write_file_atomically(paths.kernel, codegen::emit_kernel(problem, candidate));
  codegen::RunSummary summary = run;
  // A stand-alone test has a reference in it: one in Python has no place there.
  const bool testable = !problem.python;
  if (testable)
    summary.tools = codegen::stand_alone_test_commands(problem, candidate, best.request.arch, name);
  if (write_launcher(paths, problem, best))
    summary.use = fmt::format("From C++, `#include \"{}\"` in one .cu file and call `{}_launch()`.",
                              paths.launcher.filename().string(), codegen::export_name(problem.definition));
  write_file_atomically(paths.explanation,
                        shown_text(codegen::emit_explanation(problem, candidate, best.result, summary)));
  if (testable) {
    write_file_atomically(paths.test,
                          codegen::emit_stand_alone_test(problem, candidate, best.request.arch, name));
  } else {
    std::error_code gone;
    std::filesystem::remove(paths.test, gone);
  }
}

void remove_kernel_files(const OutputPaths& paths) {
  for (const auto& file : paths.all()) {
    std::error_code gone;
    std::filesystem::remove(file, gone);
  }
}

void note_baseline(codegen::RunSummary& run, const ProblemInstance& problem, const EvaluationResult& result) {
  if (run.baseline_ns) return;
  struct Times {
    std::vector<double> medians, weights;
  };
  std::map<std::string, Times> by_label;
  std::size_t most = 0;
  for (const Diagnostic& d : result.outcome.diagnostics) {
    if (d.severity == "note" && d.message.starts_with("baseline ")) run.baseline_notes.push_back(d.message);
  }
  for (const Measurement& m : result.measurements) {
    if (m.role != MeasurementRole::baseline || m.median_ns <= 0) continue;
    Times& times = by_label[m.label];
    for (const Workload& workload : problem.workloads) {
      if (workload.name != m.workload) continue;
      times.medians.push_back(m.median_ns);
      times.weights.push_back(workload.weight);
    }
    most = std::max(most, times.medians.size());
  }
  for (const auto& [label, times] : by_label) {
    if (times.medians.empty() || times.medians.size() < most) continue;
    const double mean = weighted_geometric_mean(times.medians, times.weights);
    if (run.baseline_ns && *run.baseline_ns <= mean) continue;
    run.baseline_ns = mean;
    run.baseline_label = label;
  }
}

std::string held_out_text(const agent::HeldOutReport& report) {
  std::string text = fmt::format("right on all {}", report.shapes);
  if (!report.note.empty()) {
    text = "not checked: " + report.note;
  } else if (!report.passed) {
    text = "no candidate was right on them";
  }
  if (report.disqualified == 0) return text;
  return text + fmt::format("; {} candidate{} disqualified there", report.disqualified,
                            report.disqualified == 1 ? " was" : "s were");
}

std::string examination_text(const std::vector<agent::ExaminationReport>& reports) {
  std::string text;
  for (const agent::ExaminationReport& report : reports) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", report.examiner,
                        report.passed ? "no fault of memory, no race" : "not examined: " + report.note);
  }
  return text;
}

std::string other_devices_text(const agent::LoopResult& loop) {
  std::vector<std::string> parts;
  for (const agent::OtherDeviceReport& report : loop.other_devices)
    if (report.place.empty())
      parts.push_back(report.note);
    else if (!report.deviates)
      parts.push_back(
          fmt::format("{} {}: {}", report.place, report.agrees ? "agrees" : "does not agree", report.note));
  for (const agent::OtherDeviceReport& report : loop.deviations)
    parts.push_back(fmt::format("{} deviates: {}", report.place, report.note));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string final_text(const agent::LoopResult& loop) {
  if (!loop.best || !loop.best->result.score_ns) return "";
  if (!loop.final_measurement.note.empty())
    return "not measured again in a fresh process: " + loop.final_measurement.note;
  return fmt::format("measured again in a fresh process: {} (in the search: {})",
                     format_ns(*loop.best->result.score_ns),
                     format_ns(loop.final_measurement.search_ns.value_or(0)));
}

Json evaluation_json(const EvaluationResult& result) {
  Json json = {{"status", to_string(result.outcome.status)},
               {"stage", to_string(result.outcome.stage)},
               {"gate", result.outcome.gate ? Json(to_string(*result.outcome.gate)) : Json()},
               {"message", result.outcome.message}};
  json["score_ns"] = result.score_ns ? Json(*result.score_ns) : Json();
  json["diagnostics"] = Json::array();
  for (const Diagnostic& d : result.outcome.diagnostics) json["diagnostics"].push_back(diagnostic_json(d));
  json["explanation"] = explain(result.outcome);
  json["kernels"] = Json::array();
  if (result.build) {
    for (const KernelFacts& kernel : result.build->kernels) json["kernels"].push_back(kernel_json(kernel));
  }
  if (result.occupancy)
    json["occupancy"] = {{"ratio", result.occupancy->ratio}, {"limiter", result.occupancy->limiter}};
  json["check_ms"] = result.stage_times.check_ms;
  json["reference_ms"] = result.stage_times.reference_ms;
  json["checks"] = Json::array();
  for (const CheckRecord& check : result.checks) json["checks"].push_back(check_json(check));
  json["measurements"] = Json::array();
  for (const Measurement& m : result.measurements) json["measurements"].push_back(measurement_json(m));
  return json;
}

Json result_json(const ProblemInstance& problem, const agent::LoopResult& loop,
                 const codegen::RunSummary& run, const OutputPaths& paths) {
  Json json = {{"definition", problem.definition.name},
               {"arch", run.arch},
               {"device", run.device},
               {"executed", run.executed},
               {"emulated", run.emulated},
               {"ranking", run.ranking},
               {"stop_reason", loop.stop_reason},
               {"interrupted", loop.interrupted},
               {"evaluations", loop.progress.evaluated},
               {"verified", loop.progress.verified},
               {"failed", loop.progress.failed},
               {"duplicates", loop.progress.duplicates},
               {"reused", loop.progress.reused},
               {"wall_s", loop.progress.elapsed_s},
               {"search", loop.search}};
  const auto& gain = loop.progress.gain;
  json["remaining_gain"] =
      gain ? Json{{"expected", gain->expected}, {"low", gain->low}, {"high", gain->high}} : Json();
  json["first_verified_s"] = loop.progress.first_verified_s ? Json(*loop.progress.first_verified_s) : Json();
  json["baseline_ns"] = run.baseline_ns ? Json(*run.baseline_ns) : Json();
  json["baseline"] = run.baseline_label;
  json["baseline_notes"] = run.baseline_notes;
  json["held_out"] = {{"shapes", loop.held_out.shapes},
                      {"passed", loop.held_out.passed},
                      {"disqualified", loop.held_out.disqualified},
                      {"drawn", loop.held_out.drawn},
                      {"note", loop.held_out.note}};
  json["examinations"] = Json::array();
  for (const agent::ExaminationReport& report : loop.examinations) {
    json["examinations"].push_back(
        {{"examiner", report.examiner}, {"passed", report.passed}, {"note", report.note}});
  }
  json["other_devices"] = Json::array();
  for (const agent::OtherDeviceReport& report : loop.other_devices)
    json["other_devices"].push_back(
        {{"place", report.place}, {"agrees", report.agrees}, {"note", report.note}});
  json["deviations"] = Json::array();
  for (const agent::OtherDeviceReport& report : loop.deviations)
    json["deviations"].push_back({{"place", report.place}, {"note", report.note}});
  json["final"] = {
      {"search_ns", loop.final_measurement.search_ns ? Json(*loop.final_measurement.search_ns) : Json()},
      {"note", loop.final_measurement.note}};
  json["ties"] = Json::array();
  for (const agent::Tie& tie : loop.ties) {
    json["ties"].push_back({{"template", tie.with.candidate.name},
                            {"tunables", tunables_json(tie.with.candidate.tunables)},
                            {"variant", tie.with.variant},
                            {"ratio", tie.ratio.ratio},
                            {"low", tie.ratio.interval.low},
                            {"high", tie.ratio.interval.high}});
  }
  json["leaders"] = Json::array();
  for (const agent::Leader& leader : loop.leaders) {
    json["leaders"].push_back({{"template", leader.candidate.name},
                               {"tunables", tunables_json(leader.candidate.tunables)},
                               {"variant", leader.variant},
                               {"score_ns", leader.score_ns ? Json(*leader.score_ns) : Json()},
                               {"predicted", leader.predicted ? to_json(*leader.predicted) : Json()}});
  }
  json["best"] = nullptr;
  if (!loop.best) return json;
  const Candidate& candidate = loop.best->request.candidate;
  json["best"] = evaluation_json(loop.best->result);
  json["best"]["predicted"] = loop.predicted ? to_json(*loop.predicted) : Json();
  json["best"]["energy"] = energy_json(problem, loop.best->result);
  json["best"]["variant"] = loop.best_variant ? Json(*loop.best_variant) : Json();
  json["best"]["template"] = candidate.name;
  json["best"]["tunables"] = tunables_json(candidate.tunables);
  json["files"] = {{"kernel", paths.kernel.string()},
                   {"explanation", paths.explanation.string()},
                   {"result", paths.result.string()}};
  if (!problem.python) json["files"]["test"] = paths.test.string();
  if (std::filesystem::exists(paths.launcher)) json["files"]["launcher"] = paths.launcher.string();
  return json;
}

std::string evaluation_text(const ProblemInstance& problem, const EvaluationResult& result) {
  std::string text = further_findings(result.outcome);
  int passed = 0;
  for (const CheckRecord& check : result.checks) {
    passed += check.passed;
    if (check.passed) continue;
    text += fmt::format("  check failed: {} on {} ({}): error {:.2e}, tolerance {:.2e}\n", check.tensor,
                        check.workload, check.distribution, check.max_error, check.tolerance);
  }
  if (!result.checks.empty()) text += checks_line(result, passed);
  for (const Measurement& m : result.measurements) {
    if (m.prepared_bytes > 0)
      text += fmt::format("  {:<16} weights prepared in {}, beside the score; {} bytes stay\n", m.workload,
                          format_ns(m.prepare_ns), m.prepared_bytes);
    const double bytes = bytes_moved(problem, m.workload);
    const std::string own = m.cold ? "kernel" : "kernel, warm L2";
    const std::string who = m.role == MeasurementRole::candidate ? own : m.label;
    if (m.method == kEmulatedMethod) {
      text += fmt::format("  {:<16} {:<16} {:>10}  emulated cost\n", m.workload, who, format_ns(m.median_ns));
      continue;
    }
    text += fmt::format("  {:<16} {:<16} {:>10}  [{}, {}]  {:.0f} GB/s\n", m.workload, who,
                        format_ns(m.median_ns), format_ns(m.ci_low_ns), format_ns(m.ci_high_ns),
                        m.median_ns > 0 ? bytes / m.median_ns : 0);
  }
  return text;
}

std::string evaluation_page(const std::string& name, const ProblemInstance& problem,
                            const EvaluationResult& result) {
  const Outcome& outcome = result.outcome;
  return fmt::format("{}: {}{}{}\n{}", name, to_string(outcome.status),
                     outcome.gate ? fmt::format(" (gate {})", to_string(*outcome.gate)) : "",
                     outcome.message.empty() ? "" : ": " + outcome.message, evaluation_text(problem, result));
}

}  // namespace ak::app
