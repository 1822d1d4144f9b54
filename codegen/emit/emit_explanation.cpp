// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/emit/emit.h"
#include "codegen/emit/explanation_times.h"
#include "codegen/emit/finished_plan.h"
#include "codegen/emit/markdown.h"
#include "core/gate.h"
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
  const LaunchPlan plan = finished_plan(problem, candidate);  ///< as the file has it

  [[nodiscard]] std::string write() const {
    return summary() + run.set + structure() + optimisations_section(run.parts) + parameters() + resources() +
           times_section(problem, result, run) + limits_section(run.parts, run.emulated) + checks() +
           method() + log_section(run.parts) + reproduction();
  }

  [[nodiscard]] std::string summary() const {
    std::string text = fmt::format("# {} on {}\n\n{}\n\n", problem.definition.name, run.arch,
                                   markdown_cell(problem.definition.description));
    if (!run.executed) {
      text +=
          "**Nothing was executed.** There was no device to run this kernel on: it was compiled for the "
          "target and "
          "chosen by its resources alone. Its results are unchecked and its time is unknown. Run the test "
          "below on a GPU before using it.\n\n";
    } else if (result.outcome.status != Status::ok) {
      text += fmt::format("**Not verified**: the evaluation ended as `{}`. {}\n\n",
                          to_string(result.outcome.status), markdown_cell(result.outcome.message));
    }
    if (run.emulated) {
      text +=
          "**Run on the CPU emulator, not on a GPU.** Results, memory accesses and races were checked there; "
          "what stands for time is an emulated cost, estimated from exact counts of instructions and memory "
          "traffic. It is not a GPU time.\n\n";
    }
    if (run.executed && result.score_ns) {
      text += fmt::format("{}{} on {} (weighted geometric mean over the {} shapes)",
                          run.emulated ? "Emulated cost: " : "",
                          time_text(*result.score_ns) + (run.emulated ? "" : " with cold L2"), run.device,
                          run.emulated ? "counted" : "timed");
      if (run.baseline_ns) text += ", " + speed_text(*result.score_ns, *run.baseline_ns, run.baseline_label);
      text += ".\n\n";
    }
    return text;
  }

  [[nodiscard]] std::string structure() const {
    std::string text = "## What the kernel does\n\n";
    if (const std::string words = author_text(candidate.source); !words.empty()) text += words + "\n";
    if (!run.parts.approach.empty()) text += fmt::format("By what it names: {}.\n\n", run.parts.approach);
    if (!plan.prepare.empty()) text += "Once for a set of weights, before any call on it:\n\n";
    for (const LaunchPlanEntry& launch : plan.prepare) text += launch_line(launch);
    if (!plan.prepare.empty()) text += "\n";
    text += plan.launches.size() == 1 ? "One launch:\n\n" : "The launches of one call, in order:\n\n";
    for (const LaunchPlanEntry& launch : plan.launches) text += launch_line(launch);
    for (const WorkspacePlan& space : plan.workspace) {
      text += fmt::format(
          "- workspace {}: {} elements of {}{}\n", markdown_code(space.name),
          markdown_code(space.count.text()), space.dtype,
          space.init == WorkspaceInit::zero ? ", set to zero before every call, inside the timed part" : "");
    }
    for (const auto& [name, expression] : plan.let)
      text += fmt::format("- where {} = {}\n", markdown_code(name), markdown_code(expression.text()));
    if (!plan.options.empty())
      text += fmt::format("- compiler options: {}\n",
                          markdown_code(fmt::format("{}", fmt::join(plan.options, ", "))));
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
          "favourable resources. Only a run on a device shows which is fastest.\n",
          run.evaluations, run.strategy);
    return fmt::format(
        "\nChosen by {}: of {} variants evaluated ({} verified) in {:.0f} s by the strategy {}, none that "
        "passed every check was shown to be faster. The run ended because: {}.{}\n",
        run.predicted && run.emulated ? "predicted time, of those that it cannot tell apart by emulated cost"
        : run.emulated                ? "emulated cost"
                                      : "measurement, not by a model",
        run.evaluations, run.verified, run.wall_s, run.strategy, markdown_cell(run.stop_reason),
        run.verdict.empty() ? "" : fmt::format(" Its verdict is {}.", markdown_cell(run.verdict)));
  }

  /// Empty where nothing was measured.
  [[nodiscard]] std::string evidence_of(const std::string& tunable) const {
    const auto note = std::ranges::find(run.parts.tunables, tunable, &TunableNote::name);
    if (note == run.parts.tunables.end()) return "";
    std::string text;
    for (const std::string& one : note->evidence) text += (text.empty() ? "" : "; ") + markdown_cell(one);
    return text;
  }

  [[nodiscard]] std::string parameters() const {
    if (plan.tunables.empty()) return "";
    const bool measured = std::ranges::any_of(
        plan.tunables, [&](const Tunable& tunable) { return !evidence_of(tunable.name).empty(); });
    std::string text =
        measured ? "## Why these parameters\n\n| tunable | chosen | values | evidence |\n|---|---|---|---|\n"
                 : "## Parameters\n\n| tunable | chosen | values |\n|---|---|---|\n";
    for (const Tunable& tunable : plan.tunables) {
      const auto chosen = candidate.tunables.find(tunable.name);
      text += fmt::format("| {} | {} | {} |", tunable.name,
                          chosen == candidate.tunables.end() ? tunable.default_value : chosen->second,
                          fmt::join(tunable.values, ", "));
      text += measured ? fmt::format(" {} |\n", evidence_of(tunable.name)) : "\n";
    }
    text += choice();
    if (!plan.constraints.empty()) text += "\nPoints of the space have to satisfy:\n\n";
    for (const Expression& constraint : plan.constraints)
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
      const int blocks = result.occupancy->blocks_per_sm;  // the database keeps the ratio alone
      text += fmt::format(
          "The first launch has an occupancy of {:.0f} %{}, limited by {}.\n", 100 * result.occupancy->ratio,
          blocks > 0 ? fmt::format(" ({} blocks per SM)", blocks) : std::string(), result.occupancy->limiter);
    }
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
    if (!run.other_devices.empty())
      text += fmt::format("\nOn other devices: {}.\n", markdown_cell(run.other_devices));
    for (const std::string& turns : run.turns) text += fmt::format("\nOn {}.\n", markdown_cell(turns));
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
        "lay between guard bands.\n\n",
        problem.tolerance.factor, problem.tolerance.floor_ulps, markdown_cell(problem.tolerance.reason));
  }

  [[nodiscard]] std::string method() const {
    const auto own = std::ranges::find(result.measurements, MeasurementRole::candidate, &Measurement::role);
    if (own == result.measurements.end()) return "";
    if (run.emulated) {
      return "## How it was counted\n\nEach counted shape ran once on the emulator. The cost is the longest "
             "of issuing its instructions, special functions, tensor cores, shared memory wavefronts and "
             "32-byte "
             "sectors of global memory on one multiprocessor of the target with its share of the memory "
             "bandwidth, plus an overhead for every launch. Caches and register pressure are not in it.\n\n";
    }
    std::string text = fmt::format(
        "## How it was measured\n\nMethod `{}`, {} launch sequence(s) a sample, L2 {}. A call is the whole "
        "launch sequence with the "
        "zeroing of workspace. Inputs and outputs rotate, and the outputs of the timed calls were compared "
        "with the reference, too. ",
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
        "carries its problem, params and tunables. The stand-alone test next to it needs nvcc and a GPU "
        "only: its first lines give the command.\n",
        run.version, run.proposer, run.strategy);
    if (!run.use.empty()) text += "\n" + run.use + "\n";
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
