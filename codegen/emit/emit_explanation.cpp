// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/emit/emit.h"
#include "codegen/emit/markdown.h"
#include "core/gate.h"
#include "core/plan/work.h"
#include "core/text/suggest.h"

namespace ak::codegen {
namespace {

std::string size_text(const std::vector<Expression>& dimensions) {
  std::string text;
  for (const Expression& each : dimensions) text += (text.empty() ? "" : " x ") + each.text();
  return markdown_code(text);
}

/// The `//` lines that follow the plan: what the author says of the kernel. Shown as a quotation.
std::string author_text(const std::string& source) {
  std::size_t at = source.find("*/");
  if (at == std::string::npos) return "";
  at = source.find('\n', at);
  std::string text;
  while (at != std::string::npos && ++at < source.size()) {
    const std::size_t end = source.find('\n', at);
    const std::string line = source.substr(at, end == std::string::npos ? end : end - at);
    if (!line.starts_with("//")) break;
    at = end;
    if (line.find("SPDX-") == std::string::npos && line.size() > 2)
      text += "> " + markdown_cell(line.substr(2)) + "\n";
  }
  return text;
}

struct ExplanationWriter {
  const ProblemInstance& problem;
  const Candidate& candidate;
  const EvaluationResult& result;
  const RunSummary& run;

  [[nodiscard]] std::string write() const {
    return summary() + structure() + optimisations_section(run.parts) + parameters() + resources() + times() +
           limits_section(run.parts, run.emulated) + checks() + method() + log_section(run.parts) +
           reproduction();
  }

  [[nodiscard]] const Workload* workload(const std::string& name) const {
    const auto found = std::ranges::find(problem.workloads, name, &Workload::name);
    return found == problem.workloads.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string summary() const {
    std::string text = fmt::format("# {} on {}\n\n{}\n\n", problem.definition.name, run.arch,
                                   markdown_cell(problem.definition.description));
    if (!run.executed) {
      text +=
          "**Nothing was executed.** There was no device to run this kernel on: it was compiled for the "
          "target and "
          "chosen by its resources alone. Its results are unchecked and its time is unknown. Run the test "
          "below "
          "on a GPU before using it.\n\n";
    } else if (result.outcome.status != Status::ok) {
      text += fmt::format("**Not verified**: the evaluation ended as `{}`. {}\n\n",
                          to_string(result.outcome.status), markdown_cell(result.outcome.message));
    }
    if (run.emulated) {
      text +=
          "**Run on the CPU emulator, not on a GPU.** Results, memory accesses and races were checked there; "
          "what "
          "stands for time is an emulated cost, estimated from exact counts of instructions and memory "
          "traffic to "
          "rank variants. It is not a GPU time.\n\n";
    }
    if (run.executed && result.score_ns) {
      text += fmt::format("{}{} on {} (weighted geometric mean over the {} shapes)",
                          run.emulated ? "Emulated cost: " : "",
                          time_text(*result.score_ns) + (run.emulated ? "" : " with cold L2"), run.device,
                          run.emulated ? "counted" : "timed");
      if (run.baseline_ns)
        text += fmt::format(", {:.2f} times as fast as {} ({})", *run.baseline_ns / *result.score_ns,
                            run.baseline_label, time_text(*run.baseline_ns));
      text += ".\n\n";
    }
    return text;
  }

  [[nodiscard]] std::string structure() const {
    std::string text = "## What the kernel does\n\n";
    if (const std::string words = author_text(candidate.source); !words.empty()) text += words + "\n";
    if (!run.parts.approach.empty()) text += fmt::format("By what it names: {}.\n\n", run.parts.approach);
    text +=
        candidate.plan.launches.size() == 1 ? "One launch:\n\n" : "The launches of one call, in order:\n\n";
    for (const LaunchPlanEntry& launch : candidate.plan.launches) text += launch_line(launch);
    for (const WorkspacePlan& space : candidate.plan.workspace) {
      text += fmt::format(
          "- workspace {}: {} elements of {}{}\n", markdown_code(space.name),
          markdown_code(space.count.text()), space.dtype,
          space.init == WorkspaceInit::zero ? ", set to zero before every call, inside the timed part" : "");
    }
    for (const auto& [name, expression] : candidate.plan.let)
      text += fmt::format("- where {} = {}\n", markdown_code(name), markdown_code(expression.text()));
    if (!candidate.plan.options.empty())
      text += fmt::format("- compiler options: {}\n",
                          markdown_code(fmt::format("{}", fmt::join(candidate.plan.options, ", "))));
    return text + "\n";
  }

  [[nodiscard]] static std::string launch_line(const LaunchPlanEntry& launch) {
    std::string text = fmt::format("- {}: {} blocks of {} threads", markdown_code(launch.kernel),
                                   size_text(launch.grid), size_text(launch.block));
    if (!launch.cluster.empty()) text += fmt::format(", in clusters of {}", size_text(launch.cluster));
    if (launch.shared_bytes)
      text += fmt::format(", {} bytes of dynamic shared memory", markdown_code(launch.shared_bytes->text()));
    if (launch.cooperative) text += ", cooperative";
    if (launch.pdl) text += ", may start before the launch before it has ended";
    if (launch.loop)
      text +=
          fmt::format(", once for each {} from {} to {} (exclusive)", markdown_code(launch.loop->variable),
                      markdown_code(launch.loop->low.text()), markdown_code(launch.loop->high.text()));
    if (launch.when) text += fmt::format(", when {}", markdown_code(launch.when->text()));
    return text + "\n";
  }

  [[nodiscard]] std::string choice() const {
    if (!run.chosen) return "\nNo search ended with this point.\n";
    if (!run.executed)
      return fmt::format(
          "\nChosen without measurement: of {} variants built by the strategy {} this one has the most "
          "favourable "
          "resources. Only a run on a device shows which is fastest.\n",
          run.evaluations, run.strategy);
    return fmt::format(
        "\nChosen by {}: of {} variants evaluated ({} verified) in {:.0f} s by the strategy {}, none that "
        "passed every "
        "check was shown to be faster. The run ended because: {}.\n",
        run.predicted && run.emulated ? "predicted time, of those that it cannot tell apart by emulated cost"
        : run.emulated                ? "emulated cost"
                                      : "measurement, not by a model",
        run.evaluations, run.verified, run.wall_s, run.strategy, markdown_cell(run.stop_reason));
  }

  [[nodiscard]] std::string evidence_of(const std::string& tunable) const {
    const auto note = std::ranges::find(run.parts.tunables, tunable, &TunableNote::name);
    if (note == run.parts.tunables.end() || note->evidence.empty()) return "no evidence measured";
    std::string text;
    for (const std::string& one : note->evidence) text += (text.empty() ? "" : "; ") + markdown_cell(one);
    return text;
  }

  [[nodiscard]] std::string parameters() const {
    if (candidate.plan.tunables.empty()) return "";
    std::string text =
        "## Why these parameters\n\n| tunable | chosen | values tried from | evidence |\n|---|---|---|---|\n";
    for (const Tunable& tunable : candidate.plan.tunables) {
      const auto chosen = candidate.tunables.find(tunable.name);
      text += fmt::format("| {} | {} | {} | {} |\n", tunable.name,
                          chosen == candidate.tunables.end() ? tunable.default_value : chosen->second,
                          fmt::join(tunable.values, ", "), evidence_of(tunable.name));
    }
    text += choice();
    if (!candidate.plan.constraints.empty()) text += "\nPoints of the space had to satisfy:\n\n";
    for (const Expression& constraint : candidate.plan.constraints)
      text += fmt::format("- {}\n", markdown_code(constraint.text()));
    return text + "\n";
  }

  [[nodiscard]] std::string resources() const {
    if (!result.build || result.build->kernels.empty()) return "";
    std::string text = fmt::format(
        "## Resources\n\nAs ptxas reports them (NVRTC {}, {}).\n\n"
        "| kernel | registers | spilled bytes (stores, loads) | stack bytes | static shared bytes "
        "|\n|---|---|---|---|---|\n",
        result.build->nvrtc_version, run.arch);
    bool spills = false;
    for (const KernelFacts& kernel : result.build->kernels) {
      spills = spills || kernel.spill_store_bytes + kernel.spill_load_bytes > 0;
      text += fmt::format("| {} | {} | {}, {} | {} | {} |\n", markdown_code(kernel.expression),
                          kernel.registers, kernel.spill_store_bytes, kernel.spill_load_bytes,
                          kernel.stack_bytes, kernel.static_shared_bytes);
    }
    text += spills ? "\nRegisters are spilled to local memory.\n" : "\nNo register is spilled.\n";
    if (result.occupancy) {
      text += fmt::format(
          "The first launch has an occupancy of {:.0f} % ({} blocks per SM), limited by {}.\n",
          100 * result.occupancy->ratio, result.occupancy->blocks_per_sm, result.occupancy->limiter);
    }
    return text + "\n";
  }

  [[nodiscard]] std::string time_row(const Measurement& m, const Workload& shape) const {
    const Result<Work> known = work_of(problem, shape);
    const Work work = known ? *known : Work{};
    const double gbps = work.bytes / m.median_ns, tflops = work.flops / m.median_ns / 1e3;
    const std::string peak = run.peak_bandwidth_gbps > 0
                                 ? fmt::format("{:.1f} %", 100 * gbps / run.peak_bandwidth_gbps)
                                 : "unknown";
    std::string baseline;
    for (const Measurement& other : result.measurements) {
      if (other.role == MeasurementRole::baseline && other.workload == m.workload && other.cold == m.cold &&
          other.median_ns > 0)
        baseline += fmt::format("{}{} {}", baseline.empty() ? "" : ", ", markdown_cell(other.label),
                                time_text(other.median_ns));
    }
    if (baseline.empty()) baseline = "-";
    return fmt::format("| {}{} | {} | {} to {} | {} | {:.1f} | {:.1f} | {} | {:.3f} | {} |\n",
                       markdown_cell(m.workload), m.cold ? "" : ", warm L2", time_text(m.median_ns),
                       time_text(m.ci_low_ns), time_text(m.ci_high_ns), m.samples_ns.size(), work.bytes / 1e6,
                       gbps, peak, tflops, baseline);
  }

  [[nodiscard]] std::string emulated_costs() const {
    std::string text =
        "## Emulated cost\n\nAn estimate, not a GPU time.\n\n| shape | which | emulated cost "
        "|\n|---|---|---|\n";
    for (const Measurement& m : result.measurements) {
      text += fmt::format("| {} | {} | {} |\n", markdown_cell(m.workload),
                          m.role == MeasurementRole::candidate ? "this kernel" : markdown_cell(m.label),
                          time_text(m.median_ns));
    }
    return text + "\n";
  }

  [[nodiscard]] std::string times() const {
    if (run.emulated) return prediction_section(run) + emulated_costs();
    std::string rows, notes;
    for (const Measurement& m : result.measurements) {
      const Workload* shape = workload(m.workload);
      if (m.role != MeasurementRole::candidate || !shape || m.median_ns <= 0) continue;
      rows += time_row(m, *shape);
      if (m.truncated)
        notes += fmt::format("{}: stopped before the error target was reached.\n", markdown_cell(m.workload));
      if (!m.throttle_reasons.empty())
        notes += fmt::format("{}: clocks were reduced while measuring ({}).\n", markdown_cell(m.workload),
                             markdown_cell(m.throttle_reasons));
    }
    const std::string formulas =
        fmt::format("The minimum work of one call: {} bytes read, {} bytes written, {} operations.\n",
                    markdown_code(problem.bytes_read.text()), markdown_code(problem.bytes_written.text()),
                    markdown_code(problem.flops.text()));
    if (rows.empty()) return fmt::format("## Time\n\nNot measured.\n{}\n", formulas);
    std::string text = fmt::format(
        "## Time\n\n{}\n| shape | median | 95 % interval | samples | MB moved | GB/s | of peak bandwidth | "
        "TFLOP/s | baselines "
        "|\n|---|---|---|---|---|---|---|---|---|\n{}\n{}",
        formulas, rows, notes);
    if (!run.energy.empty()) text += fmt::format("Energy: {}.\n", markdown_cell(run.energy));
    for (const std::string& bottleneck : run.bottlenecks)
      if (run.parts.limits.empty()) text += fmt::format("What limits it: {}.\n", markdown_cell(bottleneck));
    for (const std::string& cross_check : run.duration_checks)
      text += fmt::format("Cross-check of the time: {}.\n", markdown_cell(cross_check));
    if (run.peak_bandwidth_gbps > 0)
      text += fmt::format("Peak bandwidth is {:.0f} GB/s, from memory clock and bus width.\n",
                          run.peak_bandwidth_gbps);
    return text + "\n";
  }

  [[nodiscard]] std::string checks() const {
    if (result.checks.empty())
      return "## What was checked\n\nNothing: no result of this kernel was compared with anything.\n\n";
    struct Row {
      std::vector<std::string> distributions;
      const CheckRecord* worst = nullptr;
      int failed = 0;
    };
    const auto ratio = [](const CheckRecord& c) {
      return c.tolerance > 0 ? c.max_error / c.tolerance : c.max_error;
    };
    std::vector<std::pair<std::string, Row>> rows;
    for (const CheckRecord& check : result.checks) {
      auto row = std::ranges::find(rows, check.workload, &std::pair<std::string, Row>::first);
      if (row == rows.end()) row = rows.insert(rows.end(), {check.workload, {}});
      auto& names = row->second.distributions;
      if (std::ranges::find(names, check.distribution) == names.end()) names.push_back(check.distribution);
      if (!row->second.worst || ratio(check) > ratio(*row->second.worst)) row->second.worst = &check;
      row->second.failed += check.passed ? 0 : 1;
    }
    std::string text =
        "## What was checked\n\n| shape | inputs | worst error | bound | part of the bound "
        "|\n|---|---|---|---|---|\n";
    for (const auto& [name, row] : rows) {
      text += fmt::format("| {} | {} | {:.2e} ({}) | {:.2e} | {:.0f} %{} |\n", markdown_cell(name),
                          fmt::join(row.distributions, ", "), row.worst->max_error, row.worst->distribution,
                          row.worst->tolerance, 100 * ratio(*row.worst), row.failed > 0 ? " FAILED" : "");
    }
    if (result.outcome.status == Status::ok) text += gates_text();
    if (!run.examination.empty())
      text += fmt::format("\nExamined on small shapes: {}.\n", markdown_cell(run.examination));
    if (!run.final_measurement.empty())
      text += fmt::format("\nThe kernel was {}.\n", markdown_cell(run.final_measurement));
    if (!run.held_out.empty())
      text += fmt::format("\nHeld-out shapes, drawn when the search had ended: {}.\n",
                          markdown_cell(run.held_out));
    return text + tolerance_text();
  }

  /// Those that every verified kernel has passed; what was drawn or examined later is said by itself.
  [[nodiscard]] std::string gates_text() const {
    std::vector<std::string_view> names;
    const GateDevices here = run.emulated ? GateDevices::cpu : GateDevices::gpu;
    for (const GateInfo& each : gates())
      if ((each.devices == GateDevices::both || each.devices == here) && each.gate != Gate::held_out &&
          each.gate != Gate::problem_audit)
        names.push_back(each.name);
    return fmt::format("\nGates passed: {}.\n", fmt::join(names, ", "));
  }

  [[nodiscard]] std::string tolerance_text() const {
    return fmt::format(
        "\nThe error of an element is |got - exact| / (|exact| + rms(exact)), where exact is the reference "
        "computed in fp64. "
        "The bound is {:g} times the error that the plain reference makes in the kernel's own precision on "
        "the same inputs "
        "(at least {:g} unit roundoffs): {}. Outputs were filled with NaN before every launch, and buffers "
        "lay "
        "between guard bands.\n\n",
        problem.tolerance.factor, problem.tolerance.floor_ulps, markdown_cell(problem.tolerance.reason));
  }

  [[nodiscard]] std::string method() const {
    const auto own = std::ranges::find(result.measurements, MeasurementRole::candidate, &Measurement::role);
    if (own == result.measurements.end()) return "";
    if (run.emulated) {
      return "## How it was counted\n\nEach counted shape ran once on the emulator. The cost is the longest "
             "of "
             "issuing its instructions, special functions, tensor cores, shared memory wavefronts and "
             "32-byte "
             "sectors of global memory on one multiprocessor of the target with its share of the memory "
             "bandwidth, "
             "plus an overhead for every launch. Caches and register pressure are not in it.\n\n";
    }
    std::string text = fmt::format(
        "## How it was measured\n\nMethod `{}`, {} launch sequence(s) a sample, L2 {}. A call is the whole "
        "launch sequence with the "
        "zeroing of workspace. Inputs and outputs rotate, and the outputs of the timed calls were compared "
        "with the reference, "
        "too. ",
        own->method, own->launches_per_sample, own->cold ? "flushed before every sample" : "warm");
    if (own->sm_clock_mhz > 0)
      text += fmt::format("Clocks while measuring: SM {} MHz, memory {} MHz; {} degrees C. ",
                          own->sm_clock_mhz, own->memory_clock_mhz, own->temperature_c);
    return text + "No clock or power limit was changed.\n\n";
  }

  [[nodiscard]] std::string reproduction() const {
    std::string text = fmt::format("## How to reproduce\n\n```\n{}\n", sanitize(run.command, 4096));
    text += fmt::format(
        "```\n\nwith AlphaKernel {} (proposer {}, strategy {}). `alphakernel evaluate` checks and times the "
        "kernel again: the file "
        "carries its problem, params and tunables. The stand-alone test beside it needs nvcc and a GPU only: "
        "its first lines "
        "give the command.\n",
        run.version, run.proposer, run.strategy);
    if (!run.tools.empty())
      text += fmt::format(
          "\nNsight Compute shows on it where the time goes, line by line, and compute-sanitizer what memory "
          "accesses and barriers do:\n\n```\n{}```\n",
          run.tools);
    if (!problem.sources_cited.empty()) text += "\nThe problem follows:\n\n";
    for (const std::string& source : problem.sources_cited)
      text += fmt::format("- {}\n", markdown_cell(source));
    return text;
  }
};

}  // namespace

std::string emit_explanation(const ProblemInstance& problem, const Candidate& candidate,
                             const EvaluationResult& result, const RunSummary& run) {
  return ExplanationWriter{problem, candidate, result, run}.write();
}

}  // namespace ak::codegen
