// SPDX-License-Identifier: Apache-2.0
#include "app/search/search_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "agent/proposals.h"
#include "agent/search/strategy.h"
#include "agent/seeds.h"
#include "app/evaluate/profiling.h"
#include "app/evaluate/progress_line.h"
#include "app/explain/explanation.h"
#include "app/knowledge/learn.h"
#include "app/knowledge/recall.h"
#include "app/llm/model_choice.h"
#include "app/predict/time_prediction.h"
#include "app/search/run_journal.h"
#include "app/setup/assembler.h"
#include "core/device/energy_metrics.h"
#include "core/error.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "db/read/evaluated_variant.h"
#include "profiler/analysis/duration_check.h"

namespace ak::tools {
namespace {

Candidate read_candidate(const std::string& name, const std::string& source) {
  Result<Candidate> candidate = parse_candidate(name, source);
  if (!candidate) {
    const InputError& input_error = candidate.error();
    fail(ExitCode::bad_input, "{}{}: {}", name,
         input_error.line > 0 ? fmt::format(":{}", input_error.line) : "", input_error.message);
  }
  return std::move(candidate).value();
}

/// The baselines that were timed beside the champion in a fresh process count, if there are any.
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

codegen::RunSummary summarise(const SearchRun& run) {
  const Target& target = run.target;
  codegen::RunSummary summary;
  summary.device = target.device ? target.device->name : "none";
  summary.arch = target.arch.sm();
  summary.proposer =
      run.models.empty() ? run.proposer : fmt::format("{} {}", run.proposer, model_names(run.models));
  summary.strategy = run.strategy;
  summary.command = run.command;
  summary.version = AK_VERSION;
  summary.executed = target.executes();
  summary.held_out = "not checked yet: the search continues";
  summary.emulated = target.kind == DeviceKind::emulator;
  summary.peak_bandwidth_gbps = target.device ? target.device->peak_bandwidth_gbps() : 0;
  return summary;
}

constexpr std::uint64_t kHeldOutStream = 1;  // of a run that repeats; the loop takes stream 0 for inputs

agent::LoopOptions loop_options(const SearchRun& run) {
  agent::LoopOptions options;
  options.problem = run.problem;
  options.templates = run.templates;
  options.first_points = run.first_points;
  if (run.port) options.origins = run.port->origins;
  options.arch = run.target.arch;
  options.depth = run.target.executes() ? Depth::time : Depth::build;
  options.strategy = run.strategy;
  options.seed = run.seed;
  options.budgets = run.budgets;
  options.search_tunables = run.proposer != "llm";
  if (run.one_by_one) {
    options.max_in_flight = 1;
    options.held_out_seed = agent::derive_seed(run.seed, kHeldOutStream);
  }
  options.session = {.command = run.command,
                     .proposer = run.proposer,
                     .strategy = run.strategy,
                     .seed = run.seed,
                     .budgets = to_json(run.budgets),
                     .version = AK_VERSION,
                     .audited = run.audited,
                     .resumed = run.resume,
                     .campaign_run = run.campaign_run};
  return options;
}

/// "BM == 64 or BM == 128", once the plan is known to have such a tunable and values.
Expression restriction(const Candidate& candidate, const std::string& name,
                       const std::vector<std::int64_t>& values) {
  std::vector<std::string> names;
  for (const Tunable& tunable : candidate.plan.tunables) names.push_back(tunable.name);
  const auto tunable = std::ranges::find(candidate.plan.tunables, name, &Tunable::name);
  if (tunable == candidate.plan.tunables.end()) {
    fail(ExitCode::usage, "{} has no tunable '{}'{}; known: {}", candidate.name, name,
         did_you_mean(name, names), fmt::join(names, ", "));
  }
  std::vector<std::string> cases;
  for (const std::int64_t value : values) {
    if (std::ranges::find(tunable->values, value) == tunable->values.end()) {
      fail(ExitCode::usage, "{}: {} cannot be {}; expected {}", candidate.name, name, value,
           fmt::join(tunable->values, ", "));
    }
    cases.push_back(fmt::format("{} == {}", name, value));
  }
  return Expression::parse(fmt::format("{}", fmt::join(cases, " or "))).value();
}

void fix(Candidate& candidate, const FixedTunables& fixed, Environment environment, const Arch& arch) {
  for (const auto& [name, values] : fixed)
    candidate.plan.constraints.push_back(restriction(candidate, name, values));
  environment["ARCH"] = std::int64_t{arch.number()};
  const auto points = enumerate_tunables(candidate.plan, environment, agent::Proposals::kMaxPoints);
  if (points.empty()) fail(ExitCode::usage, "{}: no valid point has the values given", candidate.name);
  if (std::ranges::find(points, candidate.tunables) == points.end()) candidate.tunables = points.front();
}

/// A constraint with a name that nothing defines would rule out every point, but only when each is launched.
void check_constraint_names(const Candidate& candidate, const ProblemInstance& problem) {
  const LaunchPlan& plan = candidate.plan;
  std::vector<std::string> names;
  for (const auto& [name, value] : problem.environment({})) names.push_back(name);
  for (const auto& [name, value] : device_environment({}, {})) names.push_back(name);
  for (const Axis& axis : problem.definition.axes) names.push_back(axis.name);
  for (const Tunable& tunable : plan.tunables) names.push_back(tunable.name);
  for (const auto& [name, value] : plan.let) names.push_back(name);
  for (const Expression& constraint : plan.constraints) {
    for (const std::string& name : constraint.names()) {
      if (std::ranges::find(names, name) != names.end()) continue;
      fail(ExitCode::bad_input,
           "{}: the constraint '{}' names '{}', which is no tunable, parameter, axis or 'let'{}; known: {}",
           candidate.name, constraint.text(), name, did_you_mean(name, names), fmt::join(names, ", "));
    }
  }
}

void keep_only(std::vector<Candidate>& candidates, const ProblemInstance& problem, const std::string& only) {
  std::vector<std::string> names;
  for (const CandidateFile& file : problem.templates) names.push_back(file.name);
  if (std::ranges::find(names, only) == names.end()) {
    fail(ExitCode::usage, "{} has no template '{}'{}; known: {}", problem.problem, only,
         did_you_mean(only, names), fmt::join(names, ", "));
  }
  std::erase_if(candidates, [&](const Candidate& c) { return c.name != problem.problem + "/" + only; });
}

}  // namespace

Json to_json(const agent::Budgets& b) {
  Json json = Json::object();
  if (b.max_evaluations) json["max_evaluations"] = *b.max_evaluations;
  if (b.max_compilations) json["max_compilations"] = *b.max_compilations;
  if (b.max_tokens) json["max_tokens"] = *b.max_tokens;
  if (b.max_cost_usd) json["max_cost_usd"] = *b.max_cost_usd;
  if (b.max_wall) json["max_wall_ms"] = b.max_wall->count();
  if (b.target_ns) json["target_ns"] = *b.target_ns;
  if (b.patience) json["patience"] = *b.patience;
  return json;
}

std::vector<Candidate> starting_points(const ProblemInstance& problem, const Arch& arch,
                                       const std::vector<Candidate>& own, const std::string& only,
                                       const FixedTunables& fixed) {
  std::vector<Candidate> candidates;
  for (const CandidateFile& file : problem.templates) {
    // `problem new` keeps the kernel it was made from in the folder: not twice.
    if (!own.empty() && sha256_hex(file.source) == own.front().source_hash()) continue;
    candidates.push_back(read_candidate(problem.problem + "/" + file.name, file.source));
  }
  if (!only.empty()) keep_only(candidates, problem, only);
  candidates.insert(candidates.begin(), own.begin(), own.end());
  if (candidates.empty()) {
    fail(ExitCode::bad_input, "{} has no kernel template to search; give one with --start FILE.cu",
         problem.folder.string());
  }
  if (fixed.empty()) return candidates;
  for (Candidate& candidate : candidates) fix(candidate, fixed, problem.environment({}), arch);
  return candidates;
}

std::vector<Candidate> file_to_tune(Candidate candidate, const ProblemInstance& problem, const Arch& arch,
                                    const FixedTunables& fixed) {
  check_constraint_names(candidate, problem);
  if (!fixed.empty()) fix(candidate, fixed, problem.environment({}), arch);
  return {std::move(candidate)};
}

void parse_fixed(const std::string& text, FixedTunables& fixed) {
  const std::size_t equals = text.find('=');
  std::vector<std::int64_t> values;
  const char* at = text.data() + (equals == std::string::npos ? text.size() : equals);
  const char* end = text.data() + text.size();
  while (at < end) {
    const auto [rest, status] = std::from_chars(at + 1, end, values.emplace_back());
    if (status != std::errc() || (rest < end && *rest != ',')) {
      values.clear();
      break;
    }
    at = rest;
  }
  if (values.empty())
    fail(ExitCode::usage, "--set {}: expected NAME=INTEGER, e.g. BM=128 or BM=64,128", text);
  fixed[text.substr(0, equals)] = std::move(values);
}

void check_strategy(const std::string& name) {
  if (agent::find_strategy(name) == nullptr) fail(ExitCode::usage, "{}", agent::unknown_strategy(name));
}

std::optional<profiler::DurationCheck> duration_check_of(const Profile& profile,
                                                         const EvaluationResult& result) {
  for (const Measurement& measured : result.measurements)
    if (measured.workload == profile.workload && measured.role == MeasurementRole::candidate)
      return profiler::check_duration(profile, measured);
  return std::nullopt;
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
    if (const auto* most = profiler::longest(launches)) outcome.bottleneck = most->analysis.bottleneck.name;
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

db::InsightScope scope_of(const SearchRun& run, const DeviceFacts& device) {
  return {.algorithm = run.problem->problem,
          .arch = run.target.arch.sm(),
          .device = device.name,
          .device_kind = device.kind == DeviceKind::emulator ? "emulator" : "cuda"};
}

/// A run that repeats must not depend on what was learned meanwhile. That it is a port stays true.
Memory memory_of(const SearchRun& run, const db::InsightScope& scope) {
  Memory memory = run.database.empty() || run.one_by_one ? Memory{} : recall(run.database, scope);
  if (run.port) memory.lessons = port_lesson(*run.port, *run.problem, run.target) + memory.lessons;
  return memory;
}

/// What was learned is no reason to lose a kernel: failures are only said.
void learn_from(const SearchRun& run, const db::InsightScope& scope, const SearchOutcome& outcome) {
  try {
    if (!outcome.summary.bottlenecks.empty() && outcome.loop.best_variant) {
      const db::Insight found{
          .id = 0,
          .scope = scope,
          .kind = "bottleneck",
          .subject = run.problem->definition.name,
          .text = fmt::format("the best known kernel of {} is limited by {}", run.problem->definition.name,
                              fmt::join(outcome.summary.bottlenecks, "; ")),
          .bottleneck = outcome.bottleneck,
          .ratio = std::nullopt,
          .tries = 1,
          .wins = 0,
          .evidence = {{"variants", {{*outcome.loop.best_variant}}}}};
      db::replace_insights(run.database, scope, {}, {&found, 1});
    }
    learn(run.database, scope);
  } catch (const Error& error) {
    print_stderr("note: nothing was learned from this session: {}\n", error.what());
  }
}

/// What the sections of the explanation say of the leader, read back from where it was committed. A database
/// that cannot be read now costs these sections, not the kernel.
void explain_leader(const SearchRun& run, SearchOutcome& outcome) {
  if (run.database.empty() || !outcome.loop.best_variant) return;
  try {
    const Candidate& leader = outcome.loop.best->request.candidate;
    outcome.summary.parts = explanation_parts(
        run.database, stored_kernel(run.database, *outcome.loop.best_variant, leader, *run.problem));
  } catch (const Error& error) {
    print_stderr("note: the explanation is without evidence: {}\n", error.what());
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

/// With several CPU devices it is up to chance which result takes the times of the baselines along.
std::unique_ptr<Evaluator> evaluator_of(const SearchRun& run, const Config& config) {
  runtime::EvaluatorOptions options = evaluator_options(run.target, config);
  if (run.one_by_one) options.max_emulators = 1;
  return runtime::make_local_evaluator(std::move(options), source_assembler());
}

/// What asks the models; null where there are none.
std::unique_ptr<agent::CandidateSource> make_source(const SearchRun& run, const agent::LoopOptions& options,
                                                    const DeviceFacts& device, const Config& config,
                                                    const db::InsightScope& scope) {
  if (run.models.empty()) return nullptr;
  std::vector<agent::LlmModel> models = run.models;
  for (agent::LlmModel& model : models)
    if (run.journal != nullptr) model.client = run.journal->around(std::move(model.client));
  return make_proposer(std::move(models), options, device, config, memory_of(run, scope), run.patient);
}

SearchOutcome run_search(const SearchRun& run, const Config& config, VariantStore& store,
                         const std::atomic<bool>& stop) {
  auto evaluator = evaluator_of(run, config);
  if (run.journal != nullptr) evaluator = run.journal->around(std::move(evaluator));
  if (!run.target.notice.empty()) print_stderr("note: {}\n", run.target.notice);
  SearchOutcome outcome{
      .loop = {}, .summary = summarise(run), .bottleneck = "", .profiles = {}, .loop_start = {}};
  codegen::RunSummary& summary = outcome.summary;
  agent::LoopOptions options = loop_options(run);
  options.stop_requested = &stop;
  options.spent_before = run.spent_before;
  if (run.journal != nullptr) options.replaying = [&run] { return run.journal->replaying(); };
  const DeviceFacts device = evaluator->capabilities().device;
  if (run.target.kind == DeviceKind::cuda) {
    options.examiners = examiners(run.target, config, device);
    options.profile = ProfileOptions{.metrics = {}, .sample_lines = true};
    for (const auto* metric : profiler::metrics_of(profiler::MetricSet::standard))
      options.profile->metrics.emplace_back(metric->cupti);
  }
  const auto predictor = run.predict && run.target.kind == DeviceKind::cuda
                             ? make_predictor(run.target.arch, *run.target.device, config)
                             : nullptr;
  options.predictor = predictor.get();
  const db::InsightScope scope = scope_of(run, device);
  const auto source = make_source(run, options, device, config, scope);
  options.source = source.get();
  ProgressLine progress(run.quiet, summary.emulated);
  options.on_progress = [&](const agent::Progress& p) {
    summary.evaluations = p.evaluated;
    summary.verified = p.verified;
    summary.wall_s = p.elapsed_s;
    if (p.last) note_baseline(summary, *run.problem, p.last->result);
    progress.show(p);
    const bool replays = run.journal != nullptr && run.journal->replaying();
    if (run.on_progress && !replays) run.on_progress(p, summary);
  };
  const bool writes_files = !run.paths.kernel.empty();
  bool written = false;
  options.on_new_best = [&](const Completed& best) {
    written = true;
    if (run.journal != nullptr && run.journal->replaying()) return;  // was written then
    if (writes_files) write_kernel_files(run.paths, *run.problem, best, summary);
    if (run.on_new_best) run.on_new_best(best);
  };
  const SystemClock clock;
  outcome.loop_start = clock.now();
  outcome.loop = agent::run_loop(options, *evaluator, store, clock);
  progress.finish();
  summary.stop_reason = outcome.loop.stop_reason;
  if (outcome.loop.final_measurement.search_ns)
    note_baseline_again(summary, *run.problem, outcome.loop.best->result);
  if (run.own_kernel) prefer_own_kernel(summary, outcome.loop);
  summary.held_out = held_out_text(outcome.loop.held_out);
  summary.examination = examination_text(outcome.loop.examinations);
  if (!summary.emulated && summary.executed) summary.final_measurement = final_text(outcome.loop);
  if (outcome.loop.best) summary.energy = energy_text(*run.problem, outcome.loop.best->result);
  judge_leader(run, device, outcome);
  explain_leader(run, outcome);
  if (run.port) summary.parts.ported = ported_text(run, outcome.loop);
  if (writes_files && outcome.loop.best) {
    write_kernel_files(run.paths, *run.problem, *outcome.loop.best, summary);
  } else if (writes_files && written) {
    remove_kernel_files(run.paths);
  }
  if (!run.database.empty() && summary.executed) learn_from(run, scope, outcome);
  return outcome;
}

}  // namespace ak::tools
