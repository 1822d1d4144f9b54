// SPDX-License-Identifier: Apache-2.0
#include "app/search/leader_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "app/evaluate/figure_texts.h"
#include "app/evaluate/profiling.h"
#include "app/explain/explanation.h"
#include "core/device/energy_metrics.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/read/evaluated_variant.h"
#include "db/store/turn_rows.h"
#include "profiler/analysis/duration_check.h"

namespace ak::app {
namespace {

/// The baselines that were timed alongside the champion in a fresh process count, if there are any.
void note_baseline_again(codegen::RunSummary& run, const ProblemInstance& problem,
                         const EvaluationResult& result) {
  codegen::RunSummary again;
  note_baseline(again, problem, result);
  if (!again.baseline_ns) return;
  run.baseline_ns = again.baseline_ns;
  run.baseline_label = again.baseline_label;
  run.baseline_notes = again.baseline_notes;
}

/// The user's own kernel is the baseline of the report where there is one.
void prefer_own_kernel(codegen::RunSummary& run, const agent::LoopResult& loop) {
  if (!loop.start || !loop.start->result.score_ns) return;
  run.baseline_ns = loop.start->result.score_ns;
  run.baseline_label = "your kernel";
}

std::optional<profiler::DurationCheck> duration_check_of(const Profile& profile,
                                                         const EvaluationResult& result) {
  for (const Measurement& measured : result.measurements)
    if (measured.workload == profile.workload && measured.role == MeasurementRole::candidate)
      return profiler::check_duration(profile, measured);
  return std::nullopt;
}

/// The most that counters promise of any shape. What is a guess, or not counted, promises nothing.
void note_promise(const profiler::Analysis& analysis, std::optional<double>& headroom) {
  if (analysis.basis != "counters" || !analysis.bottleneck.sure || analysis.bottleneck.name == "unclear")
    return;
  double at_most = analysis.bottleneck.at_most;
  for (const profiler::Finding& other : analysis.others)
    if (other.sure) at_most = std::max(at_most, other.at_most);
  headroom = std::max(headroom.value_or(0), 1 - 1 / std::max(1.0, at_most));
}

/// What limits the leader, workload by workload, and whether counters bear its times out.
void judge_leader(const SearchRun& run, const DeviceFacts& device, SearchOutcome& outcome) {
  if (!outcome.loop.best) return;
  const Completed& best = *outcome.loop.best;
  for (const Profile& profile : outcome.loop.profile.profiles) {
    const auto launches =
        judge_profile(profile, *run.problem, best.request.candidate, best.result, device, best.request.arch);
    const std::string text = bottleneck_text(profile.workload, launches);
    if (!text.empty()) outcome.summary.bottlenecks.push_back(text);
    if (const auto* most = profiler::longest(launches)) {
      outcome.bottleneck = most->analysis.bottleneck.name;
      note_promise(most->analysis, outcome.counters_headroom);
    }
    Json shown = {{"profile", profiler::profile_json(profile, launches)},
                  {"analysis", profiler::analysis_json(launches)}};
    if (const auto cross_check = duration_check_of(profile, best.result)) {
      outcome.summary.duration_checks.push_back(
          profiler::duration_check_text(profile.workload, *cross_check));
      shown["witness"] = Json{{"event_ns", cross_check->event_ns},
                              {"cupti_ns", cross_check->cupti_ns},
                              {"agrees", cross_check->agrees}};
    }
    outcome.profiles.push_back(std::move(shown));
  }
}

/// What the sections of the explanation say of the leader, read back from where it was committed. A database
/// that cannot be read now costs these sections, not the kernel.
void explain_leader(const SearchRun& run, SearchOutcome& outcome) {
  if (run.database.empty() || !outcome.loop.best_variant) return;
  try {
    Candidate leader = outcome.loop.best->request.candidate;
    leader.source =
        codegen::emit_kernel(*run.problem, leader);  // lines are those of the file that is written
    outcome.summary.parts = explanation_parts(
        run.database, stored_kernel(run.database, *outcome.loop.best_variant, leader, *run.problem));
  } catch (const Error& error) {
    print_stderr("note: the explanation is without evidence: {}\n", error.what());
  }
}

/// In the database, with the measurement that they follow.
void keep_turns(const SearchRun& run, const DeviceFacts& device, const SearchOutcome& outcome) {
  if (run.database.empty() || !outcome.loop.best_variant || outcome.baselines.turns.empty()) return;
  try {
    const auto stored = db::find_evaluation(run.database, *outcome.loop.best_variant, device.name);
    if (stored) db::store_turns(run.database, stored->evaluation, outcome.baselines.turns);
  } catch (const Error& error) {
    print_stderr("note: turns with baselines are not stored: {}\n", error.what());
  }
}

/// Where it was ported from, and how both compare where they ran on the same device.
std::string ported_text(const SearchRun& run, const agent::LoopResult& loop) {
  const Port& port = *run.port;
  std::string text = port.from.empty() ? std::string("nothing: no relative can be built") : port.from;
  const auto here_ns = loop.best ? loop.best->result.score_ns : std::nullopt;
  const bool both = here_ns && port.origin_ns && run.target.device && run.target.device->name == port.device;
  if (both)
    text += fmt::format("; here {}, {:.2f} times as fast as there", format_ns(*here_ns),
                        *port.origin_ns / *here_ns);
  for (const std::string& note : port.notes) text += "; " + note;
  return text;
}

}  // namespace

void report_leader(const SearchRun& run, const DeviceFacts& device, SearchOutcome& outcome) {
  codegen::RunSummary& summary = outcome.summary;
  summary.stop_reason = outcome.loop.stop_reason;
  if (outcome.loop.final_measurement.search_ns)
    note_baseline_again(summary, *run.problem, outcome.loop.best->result);
  if (run.own_kernel) prefer_own_kernel(summary, outcome.loop);
  summary.held_out = held_out_text(outcome.loop.held_out);
  summary.examination = examination_text(outcome.loop.examinations);
  summary.other_devices = other_devices_text(outcome.loop);
  if (!summary.emulated && summary.executed) summary.final_measurement = final_text(outcome.loop);
  if (outcome.loop.best) summary.energy = energy_text(*run.problem, outcome.loop.best->result);
  summary.turns = turns_sentences(outcome.baselines.turns);
  keep_turns(run, device, outcome);
  judge_leader(run, device, outcome);
  explain_leader(run, outcome);
  if (run.port) summary.parts.ported = ported_text(run, outcome.loop);
}

}  // namespace ak::app
