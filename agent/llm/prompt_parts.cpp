// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/prompt_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/llm/quoting.h"
#include "codegen/problem/tensor_text.h"
#include "codegen/source/mutation_branches.h"
#include "core/device/floor.h"
#include "core/plan/device_headers.h"

namespace ak::agent {
namespace {

// Tokens of parts that someone else's text may fill; chosen so that all together fit into 32,000.
constexpr std::int64_t kReferenceTokens = 3000, kDescriptionTokens = 1000, kLessonTokens = 2000;

constexpr std::size_t kMaxWorkloads = 24, kMaxCounts = 40;

/// Timed where the search's device is: the same choice as the evaluator's for a problem with
/// shapes for each.
bool is_timed(const Workload& workload, const DeviceFacts& device) {
  const bool small = workload.tier == WorkloadTier::emulator;
  return workload.has(WorkloadRole::time) &&
         (device.kind == DeviceKind::emulator ? small : workload.tier != WorkloadTier::deep);
}

std::string axes_text(const AxisValues& axes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : axes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string tensor_text(const TensorSpec& tensor, std::string_view role) {
  return fmt::format("- {} `{}`: {}{}{}\n", role, tensor.name, codegen::tensor_text(tensor),
                     tensor.description.empty() ? "" : ", ", tensor.description);
}

std::string tensors_text(const ProblemInstance& problem) {
  std::string text;
  for (const TensorSpec& tensor : problem.definition.inputs) text += tensor_text(tensor, "input");
  for (const TensorSpec& tensor : problem.definition.outputs) text += tensor_text(tensor, "output");
  for (const Axis& axis : problem.definition.axes) {
    text += fmt::format("- axis `{}`{}{}{}\n", axis.name, codegen::axis_text(axis),
                        axis.description.empty() ? "" : ": ", axis.description);
  }
  for (const auto& [name, value] : problem.params)
    text += fmt::format("- param `{}` = {}\n", name, to_string(value));
  for (const auto& [output, input] : problem.aliases)
    text += fmt::format("- `{}` and `{}` are the same memory: the operation is in place\n", output, input);
  return text;
}

/// Where none is timed by itself: what the problem is checked on there, of which the largest are timed.
std::string checked_text(const PromptSubject& subject) {
  std::string text = "- the largest of those that it is checked on:\n";
  std::size_t shown = 0;
  for (const Workload& workload : subject.problem->workloads) {
    const bool here = subject.device.kind != DeviceKind::emulator || workload.tier == WorkloadTier::emulator;
    if (workload.has(WorkloadRole::check) && here && ++shown <= kMaxWorkloads)
      text += fmt::format("  - `{}`: {}\n", workload.name, axes_text(workload.axes));
  }
  return text;
}

std::string workloads_text(const PromptSubject& subject) {
  std::string text;
  std::size_t shown = 0;
  for (const Workload& workload : subject.problem->workloads) {
    if (!is_timed(workload, subject.device) || ++shown > kMaxWorkloads) continue;
    const Floor floor = floor_of(*subject.problem, workload, subject.device);
    text += fmt::format("- `{}`: {}; weight {:g}", workload.name, axes_text(workload.axes), workload.weight);
    if (floor.known())
      text += fmt::format("; the device needs {} at least ({})", time_text(floor.time.value()), floor.reason);
    text += '\n';
  }
  return text.empty() ? checked_text(subject) : text;
}

bool has_weights(const Definition& definition) {
  return std::ranges::any_of(definition.inputs, &TensorSpec::weight);
}

std::string rule_text(const std::string& output, const OutputRule& rule) {
  std::string text;
  if (!rule.gather.empty())
    text += fmt::format(" `{}` is judged by what its indices select from `{}`; none may repeat in a row.",
                        output, rule.gather);
  if (rule.set) text += fmt::format(" The order of `{}` along its last axis is free.", output);
  if (rule.exact) text += fmt::format(" `{}` must be the exact result, rounded once.", output);
  if (!rule.exact_on.empty())
    text += fmt::format(" Under the distributions {1} `{0}` must be the exact result, rounded once.", output,
                        fmt::join(rule.exact_on, ", "));
  if (rule.equal_share)
    text += fmt::format(" At least {:g} of the elements of `{}` must be the exact result, rounded once.",
                        *rule.equal_share, output);
  return text;
}

std::string tolerance_text(const Tolerance& tolerance) {
  std::string text = fmt::format(
      "An element may be off by {:g} times the error of a correct kernel that accumulates in fp32 ({}). {}",
      tolerance.factor, tolerance.reason,
      tolerance.allow_nondeterministic ? "Repeated runs may differ within that."
                                       : "Repeated runs must give the same bits.");
  if (tolerance.internal)
    text += fmt::format(" Inside, arithmetic in {} is permitted.", info(*tolerance.internal).name);
  for (const auto& [output, rule] : tolerance.outputs) text += rule_text(output, rule);
  return text;
}

std::string device_text(const PromptSubject& subject) {
  const DeviceFacts& device = subject.device;
  if (device.kind == DeviceKind::none)
    return fmt::format("None: candidates are compiled for {} and ranked by their resources.",
                       subject.arch.sm());
  std::string text = fmt::format("{}, compiled for {}.\n", device.name, subject.arch.sm());
  const auto add = [&](std::string_view what, auto value, std::string_view unit) {
    if (value > 0) text += fmt::format("- {}: {:g}{}\n", what, static_cast<double>(value), unit);
  };
  add("multiprocessors", device.sm_count, "");
  add("threads of a multiprocessor", device.max_threads_per_sm, "");
  add("shared memory of a block", device.shared_bytes_per_block, " bytes");
  add("L2 cache", device.l2_bytes, " bytes");
  add("clock", device.clock_mhz, " MHz");
  add("memory bandwidth by its data sheet", device.peak_bandwidth().per_nanosecond(), " GB/s");
  if (device.kind == DeviceKind::emulator)
    text +=
        "It is emulated: times are costs estimated from exact counts of instructions, sectors and bank "
        "conflicts, to rank candidates by.\n";
  return text;
}

/// The lines of the candidate that findings are about.
std::string quoted_lines(const Candidate& candidate, const Outcome& outcome) {
  std::vector<int> numbers;
  for (const Diagnostic& d : outcome.diagnostics) {
    if (d.line > 0 && std::ranges::find(numbers, d.line) == numbers.end()) numbers.push_back(d.line);
  }
  std::string text;
  int number = 0;
  std::string_view rest = candidate.source;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (std::ranges::find(numbers, ++number) != numbers.end())
      text += fmt::format("  line {}: {}{}", number, rest.substr(0, end),
                          rest.substr(0, end).ends_with('\n') ? "" : "\n");
    rest.remove_prefix(end);
  }
  return text.empty() ? "" : "Lines of the candidate that this is about:\n" + text;
}

const Workload* find_workload(const ProblemInstance& problem, const std::string& name) {
  const auto found = std::ranges::find(problem.workloads, name, &Workload::name);
  return found == problem.workloads.end() ? nullptr : &*found;
}

/// "m3_n1021 (M=3, N=1021)".
std::string workload_text(const ProblemInstance& problem, const std::string& name) {
  const Workload* workload = find_workload(problem, name);
  return workload ? fmt::format("{} ({})", name, axes_text(workload->axes)) : name;
}

/// What the inputs are under a distribution.
std::string distribution_text(const ProblemInstance& problem, const std::string& name) {
  const auto found = std::ranges::find(problem.distributions, name, &InputDistribution::name);
  if (found == problem.distributions.end()) return name;
  std::string text = fmt::format("{}: {}", name, in_words(found->draw));
  for (const auto& [tensor, draw] : found->tensors) text += fmt::format("; `{}` {}", tensor, in_words(draw));
  return text;
}

/// On which shapes and inputs a candidate is right that is wrong on others.
std::string checks_text(const ProblemInstance& problem, const EvaluationResult& result) {
  const auto failed = std::ranges::find(result.checks, false, &CheckRecord::passed);
  if (failed == result.checks.end()) return "";
  std::vector<std::string> right, right_there;
  const auto add = [](std::vector<std::string>& list, std::string text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  };
  for (const CheckRecord& check : std::ranges::subrange(result.checks.begin(), failed)) {
    const bool there = check.workload == failed->workload;
    if (there && check.distribution == failed->distribution) continue;  // another output
    add(there ? right_there : right, there ? check.distribution : workload_text(problem, check.workload));
  }
  if (right.size() > kMaxWorkloads) {
    const std::size_t more = right.size() - kMaxWorkloads;
    right.resize(kMaxWorkloads);
    right.push_back(fmt::format("{} more", more));
  }
  std::string text =
      fmt::format("Checks ended at {}, with inputs {}.\n", workload_text(problem, failed->workload),
                  distribution_text(problem, failed->distribution));
  if (!right_there.empty()) text += fmt::format("  right there with {}\n", fmt::join(right_there, ", "));
  if (!right.empty()) text += fmt::format("  right on {}\n", fmt::join(right, ", "));
  return text;
}

std::string times_text(const PromptSubject& subject, const EvaluationResult& result) {
  std::string text;
  for (const Measurement& m : result.measurements) {
    if (m.role != MeasurementRole::candidate || m.median_ns <= 0) continue;
    const Workload* workload = find_workload(*subject.problem, m.workload);
    text += fmt::format("  {}: {}", workload_text(*subject.problem, m.workload), time_text(m.median_ns));
    const Floor floor = workload ? floor_of(*subject.problem, *workload, subject.device) : Floor{};
    if (floor.known())
      text +=
          fmt::format(", {:.3g} times the minimum possible", (Nanoseconds(m.median_ns) / floor.time).value());
    text += m.truncated ? ", stopped early: far too slow\n" : "\n";
  }
  if (text.empty()) return "";
  const bool emulated = subject.device.kind == DeviceKind::emulator;
  std::string head = emulated ? "Estimated costs" : "Median times with a cold cache";
  if (result.score_ns) head += fmt::format(", score {}", time_text(*result.score_ns));
  return head + ":\n" + text;
}

std::string resources_text(const EvaluationResult& result) {
  std::string text;
  if (result.build) {
    for (const KernelFacts& kernel : result.build->kernels)
      text += fmt::format("  {}: {} registers, {} bytes spilled, {} bytes of static shared memory\n",
                          kernel.expression, kernel.registers,
                          kernel.spill_store_bytes + kernel.spill_load_bytes, kernel.static_shared_bytes);
  }
  if (result.occupancy)
    text += fmt::format("  occupancy {:.0f} %, limited by {}\n", 100 * result.occupancy->ratio,
                        result.occupancy->limiter);
  for (const Diagnostic& said : result.outcome.diagnostics)
    if (said.severity == "warning") text += fmt::format("  the compiler warns: {}\n", said.message);
  return text.empty() ? "" : "Resources:\n" + text;
}

/// Of the slowest workload: what the emulator's cost is computed from.
std::string counts_text(const EvaluationResult& result) {
  const auto slowest = std::ranges::max_element(
      result.measurements, {}, [](const Measurement& m) { return m.counts.empty() ? -1.0 : m.median_ns; });
  if (slowest == result.measurements.end() || slowest->counts.empty()) return "";
  std::string text = fmt::format("Exact counts of one call on {}:\n", slowest->workload);
  std::size_t shown = 0;
  for (const auto& [name, count] : slowest->counts) {
    if (++shown <= kMaxCounts) text += fmt::format("  {} = {}\n", name, count);
  }
  return text;
}

}  // namespace

std::string time_text(double time_ns) { return fmt::format("{:.4g} us", time_ns / 1e3); }

std::string system_prompt(const PromptSet& prompts, const PromptSubject& subject, const std::string& fence) {
  const ProblemInstance& problem = *subject.problem;
  std::string text =
      prompts.text("system") + "\n" + prompts.text("contract") + "\n" +
      prompts.fill("device_headers", {{"headers", device_header_index()}}) + "\n" +
      prompts.fill(
          "problem",
          {{"name", problem.definition.name},
           {"description", fitted(problem.definition.description, kDescriptionTokens)},
           {"tensors", tensors_text(problem)},
           {"workloads", workloads_text(subject)},
           {"tolerance", tolerance_text(problem.tolerance)},
           {"reference", fitted(codegen::without_mutations(problem.reference_text()), kReferenceTokens)}}) +
      "\n" + (has_weights(problem.definition) ? prompts.text("weights") + "\n" : "") +
      prompts.fill("device", {{"device", device_text(subject)}});
  if (!subject.lessons.empty())
    text += "\n" + prompts.fill("lessons",
                                {{"fence", fence}, {"lessons", quotable(subject.lessons, kLessonTokens)}});
  return text;
}

std::string outcome_text(const PromptSubject& subject, const Candidate& candidate,
                         const EvaluationResult& result) {
  std::string text = explain(result.outcome);
  if (!text.ends_with('\n')) text += '\n';
  return text + checks_text(*subject.problem, result) + quoted_lines(candidate, result.outcome) +
         times_text(subject, result) + resources_text(result) + counts_text(result);
}

std::string outcome_line(const EvaluationResult& result) {
  if (result.score_ns && !info(result.outcome.status).candidate_fault) return time_text(*result.score_ns);
  std::string line =
      fmt::format("{}: {}", to_string(result.outcome.status), result.outcome.message.substr(0, 160));
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string tunables_text(const TunableValues& tunables) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : tunables) parts.push_back(fmt::format("{}={}", name, value));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace ak::agent
