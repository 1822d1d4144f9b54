// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "agent/llm/approach.h"
#include "agent/llm/prompt_parts.h"
#include "app/evaluate/profiling.h"
#include "app/evaluate/run_files.h"
#include "app/explain/measured_evidence.h"
#include "app/explain/stored_prediction.h"
#include "app/predict/target_prediction.h"
#include "codegen/emit/finished_plan.h"
#include "core/device/floor.h"
#include "core/error.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxRemedies = 3;
constexpr std::size_t kMaxLeads = 12;

bool passed(const EvaluationResult& result) {
  const Status status = result.outcome.status;
  return is_verified(status) || status == Status::compiled_only;
}

/// Whether its plan can be resolved: of a kernel that failed, or where the problem has changed, it
/// may not be.
bool resolves(const StoredKernel& kernel, const Workload& workload) {
  const auto& stored = kernel.stored;
  return runtime::resolve_plans(*kernel.problem, kernel.candidate, {&workload},
                                device_environment(stored.device, stored.arch))
      .ok();
}

/// A profile without metrics: its launches are judged by the compiler's facts.
Profile facts_only(const ResolvedPlan& plan, const Workload& workload) {
  Profile profile;
  profile.workload = workload.name;
  for (const ResolvedLaunch& launch : plan.launches)
    profile.launches.push_back({.kernel = launch.kernel, .metrics = {}, .lines = {}});
  return profile;
}

/// A stored profile has a kernel that is launched twice only once.
bool fits(const Profile& profile, const Profile& plan) {
  return std::ranges::equal(profile.launches, plan.launches, {}, &LaunchProfile::kernel,
                            &LaunchProfile::kernel);
}

JudgedWorkload judge(const StoredKernel& kernel, const Workload& workload) {
  const db::EvaluatedVariant& stored = kernel.stored;
  const auto plans = runtime::resolve_plans(*kernel.problem, kernel.candidate, {&workload},
                                            device_environment(stored.device, stored.arch));
  const ResolvedPlan& plan = plans->front().plan;
  Profile profile = facts_only(plan, workload);
  if (auto counted = counted_profile(*kernel.problem, kernel.candidate, stored.result, workload.name,
                                     stored.device, stored.arch)) {
    profile = *std::move(counted);
  } else {
    for (const Profile& seen : stored.result.profiles)
      if (seen.workload == workload.name && fits(seen, profile)) profile = seen;
  }
  auto launches =
      judge_profile(profile, *kernel.problem, kernel.candidate, stored.result, stored.device, stored.arch);
  return {.workload = workload.name,
          .plan = plan,
          .profile = std::move(profile),
          .launches = std::move(launches)};
}

const Measurement* own_time(const EvaluationResult& result, const std::string& workload) {
  for (const Measurement& m : result.measurements)
    if (m.role == MeasurementRole::candidate && m.cold && m.workload == workload) return &m;
  return nullptr;
}

std::string bound_text(double at_most) {
  return at_most > 1.005 ? fmt::format(" (at most {:.2f} times faster)", at_most) : std::string();
}

/// What comes up when the bottleneck is gone: the next finding, else the unit that is busiest then.
/// @param room times faster that the floor allows
std::string next_limit(const profiler::Analysis& analysis, double room) {
  const auto other = std::ranges::find_if(analysis.others, &profiler::Finding::sure);
  if (other != analysis.others.end())
    return fmt::format("{}{}", other->title, bound_text(std::min(room, other->at_most)));
  if (analysis.units.size() < 2) return "";
  return fmt::format("the next unit is {}, {:.0f} % used", analysis.units[1].words,
                     analysis.units[1].percent);
}

codegen::LimitNote limit_note(const StoredKernel& kernel, const JudgedWorkload& judged) {
  codegen::LimitNote note;
  note.workload = judged.workload;
  const auto shape = std::ranges::find(kernel.problem->workloads, judged.workload, &Workload::name);
  if (const Measurement* m = own_time(kernel.stored.result, judged.workload)) {
    note.time_ns = m->median_ns;
    const Floor floor = floor_of(*kernel.problem, *shape, kernel.stored.device);
    if (m->method != kEmulatedMethod && floor.known()) {
      note.floor_ns = floor.time.value();
      note.floor_reason = floor.reason;
    }
  }
  const profiler::ProfiledLaunch* most = profiler::longest(judged.launches);
  if (most == nullptr) return note;
  const profiler::Analysis& analysis = most->analysis;
  note.basis = analysis.basis;
  if (!analysis.bottleneck.sure) return note;  // a guess is no evidence
  // No remedy gains more than the way to the floor.
  const double room =
      note.floor_ns ? std::max(1.0, *note.time_ns / *note.floor_ns) : std::numeric_limits<double>::infinity();
  note.bottleneck = fmt::format("{} in {}", analysis.bottleneck.title, analysis.kernel);
  note.evidence = analysis.bottleneck.evidence;
  note.at_most = std::min(room, analysis.bottleneck.at_most);
  for (const profiler::Advice& advice : analysis.bottleneck.remedies)
    if (note.remedies.size() < kMaxRemedies)
      note.remedies.push_back(advice.text + bound_text(std::min(room, advice.at_most)));
  note.next = next_limit(analysis, room);
  return note;
}

std::string who_text(const db::LineageStep& step) {
  return step.arm.empty() ? step.proposer : fmt::format("{} ({})", step.proposer, step.arm);
}

std::string outcome_of(const db::LineageStep& step) {
  if (step.score_ns && (step.status == "ok" || step.status == "duplicate"))
    return fmt::format("{} on {}", codegen::time_text(*step.score_ns), step.device);
  if (step.status.empty()) return "not evaluated";
  return step.message.empty() ? step.status : fmt::format("{}: {}", step.status, step.message);
}

bool comparable(const db::LineageStep& a, const db::LineageStep& b) {
  return a.score_ns && b.score_ns && a.definition == b.definition && a.device == b.device && a.arch == b.arch;
}

/// @param all steps of which one may be the other's parent
codegen::LogNote lineage_note(const db::LineageStep& step, const std::vector<db::LineageStep>& all) {
  codegen::LogNote note{.what = fmt::format("variant {} ({}, {}) {}", step.variant, step.name,
                                            step.definition, agent::tunables_text(step.tunables)),
                        .who = who_text(step),
                        .outcome_text = outcome_of(step),
                        .gain = {}};
  for (const RowId parent : step.parents) {
    const auto from = std::ranges::find(all, parent, &db::LineageStep::variant);
    if (from == all.end() || !comparable(step, *from)) continue;
    const double gain = *from->score_ns / *step.score_ns;
    note.gain = note.gain ? std::min(*note.gain, gain) : gain;
  }
  return note;
}

/// The first and the last leads; a long search has hundreds.
std::vector<codegen::LogNote> lead_notes(const std::vector<db::LineageStep>& leads) {
  std::vector<codegen::LogNote> notes;
  for (std::size_t i = 0; i < leads.size(); ++i) {
    if (i > 0 && i + kMaxLeads < leads.size() + 1) continue;
    const db::LineageStep& lead = leads[i];
    notes.push_back(
        {.what =
             fmt::format("variant {} ({}) {}", lead.variant, lead.name, agent::tunables_text(lead.tunables)),
         .who = who_text(lead),
         .outcome_text = fmt::format("{}, after {} tried", codegen::time_text(*lead.score_ns), lead.tried),
         .gain = i == 0 ? std::nullopt : std::optional(*leads[i - 1].score_ns / *lead.score_ns)});
  }
  return notes;
}

std::string later_text(const std::vector<db::LaterCheck>& later, const std::string& arm) {
  for (auto check = later.rbegin(); check != later.rend(); ++check) {
    if (check->arm != arm) continue;
    const bool fine = check->status == "ok" || check->status == "duplicate";
    const std::string verdict =
        fine ? "no fault found" : fmt::format("{}: {}", check->status, check->message);
    return arm == "held_out" ? verdict : fmt::format("{}: {}", check->device, verdict);
  }
  return "";
}

Json log_json(const std::vector<codegen::LogNote>& notes) {
  Json list = Json::array();
  for (const codegen::LogNote& note : notes)
    list.push_back({{"step", note.what},
                    {"proposed_by", note.who},
                    {"came_of_it", note.outcome_text},
                    {"gain", note.gain ? Json(*note.gain) : Json()}});
  return list;
}

Json limit_json(const codegen::LimitNote& note) {
  return {{"workload", note.workload},
          {"time_ns", note.time_ns ? Json(*note.time_ns) : Json()},
          {"floor_ns", note.floor_ns ? Json(*note.floor_ns) : Json()},
          {"floor", note.floor_reason},
          {"basis", note.basis},
          {"bottleneck", note.bottleneck},
          {"evidence", note.evidence},
          {"at_most", note.at_most},
          {"remedies", note.remedies},
          {"next", note.next}};
}

}  // namespace

StoredKernel stored_kernel(const std::filesystem::path& database, RowId variant, const Candidate& candidate,
                           const ProblemInstance& problem, const std::string& device) {
  auto stored = db::find_evaluation(database, variant, device);
  if (!stored)
    fail(ExitCode::usage, "variant {} was never evaluated{}; name a device to do so now: --device auto",
         variant, device.empty() ? "" : " on " + device);
  auto instance = std::make_shared<ProblemInstance>(problem);
  const auto has = [&](const Workload& shape) {
    return std::ranges::find(instance->workloads, shape.name, &Workload::name) != instance->workloads.end();
  };
  if (!std::ranges::all_of(stored->workloads, has)) {
    instance->workloads = stored->workloads;
    instance->shapes_given = true;
  }
  return {.problem = std::move(instance), .candidate = candidate, .stored = *std::move(stored)};
}

std::vector<JudgedWorkload> judged_workloads(const StoredKernel& kernel) {
  std::vector<JudgedWorkload> judged;
  if (!passed(kernel.stored.result) || !kernel.stored.result.build) return judged;
  for (const Workload& workload : kernel.problem->workloads)
    if (own_time(kernel.stored.result, workload.name) && resolves(kernel, workload))
      judged.push_back(judge(kernel, workload));
  if (judged.empty() && resolves(kernel, kernel.problem->workloads.front()))
    judged.push_back(judge(kernel, kernel.problem->workloads.front()));
  return judged;
}

codegen::ExplanationParts explanation_parts(const std::filesystem::path& database,
                                            const StoredKernel& kernel) {
  codegen::ExplanationParts parts;
  Candidate finished = kernel.candidate;
  finished.plan = codegen::finished_plan(*kernel.problem, kernel.candidate);
  parts.approach = agent::approach_of(finished);
  const std::vector<JudgedWorkload> judged = judged_workloads(kernel);
  for (const JudgedWorkload& workload : judged) parts.limits.push_back(limit_note(kernel, workload));
  add_evidence(database, kernel, judged, parts);
  const auto line = db::lineage(database, kernel.stored.evaluation);
  for (const db::LineageStep& step : line) parts.lineage.push_back(lineage_note(step, line));
  parts.leads = lead_notes(db::search_leads(database, kernel.stored.evaluation));
  return parts;
}

codegen::RunSummary stored_summary(const std::filesystem::path& database, const StoredKernel& kernel) {
  const db::EvaluatedVariant& stored = kernel.stored;
  codegen::RunSummary summary;
  summary.device = stored.device.name;
  summary.arch = stored.arch.sm();
  summary.proposer = stored.proposer;
  summary.strategy = stored.strategy;
  summary.stop_reason = stored.reason;
  summary.command = stored.command;
  summary.version = stored.version;
  summary.executed = stored.device.kind != DeviceKind::none;
  summary.emulated = stored.device.kind == DeviceKind::emulator;
  summary.evaluations = stored.evaluations;
  summary.verified = stored.verified;
  summary.chosen = stored.chosen;
  summary.wall_s = stored.wall_s;
  summary.facts = stored.device;
  summary.held_out = later_text(stored.later, "held_out");
  summary.examination = later_text(stored.later, "examination");
  if (stored.arm == "final") summary.final_measurement = "measured again in a fresh process";
  note_baseline(summary, *kernel.problem, stored.result);
  if (summary.emulated) summary.predicted = stored_prediction(database, stored.evaluation);
  summary.parts = explanation_parts(database, kernel);
  return summary;
}

Json explanation_json(const StoredKernel& kernel, const codegen::RunSummary& summary) {
  const db::EvaluatedVariant& stored = kernel.stored;
  const codegen::ExplanationParts& parts = summary.parts;
  Json json{{"variant", stored.variant},
            {"evaluation_row", stored.evaluation},
            {"search", stored.search},
            {"definition", kernel.problem->definition.name},
            {"device", summary.device},
            {"arch", summary.arch},
            {"emulated", summary.emulated},
            {"predicted", summary.predicted ? to_json(*summary.predicted) : Json()},
            {"template", kernel.candidate.name},
            {"tunables", kernel.candidate.tunables},
            {"approach", parts.approach},
            {"evaluation", evaluation_json(stored.result)},
            {"held_out", summary.held_out},
            {"examination", summary.examination}};
  json["optimisations"] = json["limits"] = Json::array();
  for (const codegen::OptimisationNote& note : parts.optimisations)
    json["optimisations"].push_back({{"name", note.name},
                                     {"purpose", note.purpose},
                                     {"lines", note.lines},
                                     {"tunables", note.tunables},
                                     {"evidence", note.evidence}});
  json["launches"] = Json::array();
  for (const codegen::LaunchNote& note : parts.launches)
    json["launches"].push_back({{"kernel", note.kernel}, {"optimisations", note.optimisations}});
  json["tunable_evidence"] = Json::object();
  for (const codegen::TunableNote& note : parts.tunables) json["tunable_evidence"][note.name] = note.evidence;
  for (const codegen::LimitNote& note : parts.limits) json["limits"].push_back(limit_json(note));
  json["lineage"] = log_json(parts.lineage);
  json["leads"] = log_json(parts.leads);
  return json;
}

}  // namespace ak::app
