// SPDX-License-Identifier: Apache-2.0
#include "agent/library_turns.h"

#include <fmt/format.h>

#include <span>

#include "agent/paired_comparison.h"

namespace ak::agent {

LibraryTurnsReport turns_with_libraries(
    const EvaluationRequest& request,
    const std::function<std::optional<EvaluationResult>(EvaluationRequest)>& evaluate,
    const std::function<void(const std::string&)>& announce) {
  LibraryTurnsReport report;
  for (const std::string& library : request.problem->baselines) {
    announce("in turns with " + library);
    EvaluationRequest one = request;
    one.library = library;
    one.fresh_process = one.energy = false;
    one.champion_score_ns.reset();
    one.tag.clear();
    const std::optional<EvaluationResult> result = evaluate(std::move(one));
    if (!result) {
      report.notes.push_back(library + ": not timed in turns: interrupted, or out of time");
      return report;
    }
    const std::vector<BaselineTurns> turns = turns_of_result(*result);
    report.turns.insert(report.turns.end(), turns.begin(), turns.end());
    if (result->outcome.status != Status::ok)
      report.notes.push_back(fmt::format("{}: {}", library, result->outcome.message));
    for (const Diagnostic& said : result->outcome.diagnostics)
      if (said.severity == "note") report.notes.push_back(said.message);
  }
  return report;
}

std::vector<BaselineTurns> turns_of_result(const EvaluationResult& result) {
  constexpr double kConfidence = 0.95;  // of what is shown, as of every other time (docs/timing.md)
  std::vector<BaselineTurns> list;
  for (const Measurement& m : result.measurements) {
    const Measurement* library = m.role == MeasurementRole::candidate
                                     ? other_of(result, m.workload, MeasurementRole::baseline)
                                     : nullptr;
    if (library == nullptr || m.samples_ns.empty() || m.samples_ns.size() != library->samples_ns.size())
      continue;
    const PairedSamples pairs = pair_up(*library, m, 1);
    const PairedRatio ratio = paired_ratio(std::span(&pairs, 1), kConfidence);
    list.push_back({.workload = m.workload,
                    .label = library->label,
                    .ratio = ratio.ratio,
                    .interval = ratio.interval,
                    .kernel_ns = median(pairs.champion_ns) / m.launches_per_sample,
                    .baseline_ns = median(pairs.challenger_ns) / library->launches_per_sample,
                    .rounds = static_cast<std::int64_t>(pairs.champion_ns.size())});
  }
  return list;
}

}  // namespace ak::agent
