// SPDX-License-Identifier: Apache-2.0
#include "app/search/search_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/search/strategy.h"
#include "agent/seeds.h"
#include "app/evaluate/live_view.h"
#include "app/llm/model_choice.h"
#include "app/predict/target_prediction.h"
#include "app/predict/time_prediction.h"
#include "app/search/leader_report.h"
#include "app/search/run_journal.h"
#include "app/search/search_memory.h"
#include "app/setup/assembler.h"
#include "core/device/floor.h"
#include "core/error.h"
#include "core/learn/stats.h"
#include "core/text/print_stderr.h"

namespace ak::app {
namespace {

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
  summary.set = run.set_section;
  summary.emulated = target.kind == DeviceKind::emulator;
  if (target.device) summary.facts = *target.device;
  return summary;
}

constexpr std::uint64_t kHeldOutStream = 1;  // of a run that repeats; the loop takes stream 0 for inputs

Json stored_budgets(const SearchRun& run) {
  Json json = to_json(run.whole_budgets.value_or(run.budgets));
  if (run.max_error) json["max_error"] = *run.max_error;
  return json;
}

agent::LoopOptions loop_options(const SearchRun& run) {
  agent::LoopOptions options;
  options.problem = run.problem;
  options.templates = run.templates;
  options.first_points = run.first_points;
  options.earlier = run.earlier;
  options.failed = run.failed;
  options.known = run.known;
  if (run.port) options.origins = run.port->origins;
  if (!run.parents.empty()) options.origins[0] = {.proposer = "search", .arm = "set", .parents = run.parents};
  options.arch = run.target.arch;
  options.depth = run.target.executes() ? Depth::time : Depth::build;
  options.strategy = run.strategy;
  options.seed = run.seed;
  options.budgets = run.budgets;
  options.whole_budgets = run.whole_budgets;
  options.search_tunables = run.tune && run.proposer != "llm";
  options.confirm = run.confirm;
  options.when_exhausted = run.when_exhausted;
  options.confirm_devices = run.target.confirm_devices;
  if (run.one_by_one) {
    options.max_in_flight = 1;
    options.held_out_seed = agent::derive_seed(run.seed, kHeldOutStream);
  }
  options.search = {.command = run.command,
                    .proposer = run.proposer,
                    .strategy = run.strategy,
                    .seed = run.seed,
                    .budgets = stored_budgets(run),
                    .version = AK_VERSION,
                    .audited = run.audited,
                    .resumed = run.resume,
                    .session_search = run.session_search,
                    .set = run.set};
  return options;
}

runtime::OnEvaluatorWait waiting_shown(LiveView& view) {
  return [&view](const runtime::EvaluatorActivity& activity) { view.wait(activity); };
}

SearchView described(const SearchRun& run) {
  return {.budgets = run.budgets,
          .ends_with_space = run.models.empty(),
          .emulated = run.target.kind == DeviceKind::emulator,
          .limit_ns = limit_of(run)};
}

/// With several CPU devices it is up to chance which result takes the times of the baselines along.
std::unique_ptr<Evaluator> evaluator_of(const SearchRun& run, const Config& config, LiveView& view) {
  runtime::EvaluatorOptions options = evaluator_options(run.target, config);
  options.on_wait = waiting_shown(view);
  options.pool = run.target.pool;
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
    if (run.journal != nullptr)
      model.client =
          run.journal->around(std::move(model.client), model.name, model.entry.question_usd.value_or(0));
  return make_proposer(std::move(models), options, device, config, memory_of(run, scope),
                       {.outages_pass = run.patient, .mailbox_wait = run.mailbox_wait},
                       run.journal != nullptr ? run.journal->spent_usd() : 0);
}

/// What the loop is asked to do, except for what the parts of the run supply.
agent::LoopOptions options_on(const SearchRun& run, const Config& config, const DeviceFacts& device,
                              LiveView& view) {
  agent::LoopOptions options = loop_options(run);
  options.limit_ns = limit_of(run);
  options.spent_before = run.spent_before;
  if (run.journal != nullptr) options.replaying = [&run] { return run.journal->replaying(); };
  if (run.target.kind != DeviceKind::none)
    options.examiners = examiners(run.target, config, device, waiting_shown(view));
  if (run.target.kind != DeviceKind::cuda) return options;
  options.profile = ProfileOptions{.metrics = {}, .sample_lines = true};
  for (const auto* metric : profiler::metrics_of(profiler::MetricSet::standard))
    options.profile->metrics.emplace_back(metric->cupti);
  return options;
}

/// Shows the progress of a search, and keeps its summary and the best kernel's files up to date.
class RunReporter {
 public:
  RunReporter(const SearchRun& run, codegen::RunSummary& summary, LiveView& view)
      : run_(run), summary_(summary), view_(view) {}

  void report_to(agent::LoopOptions& options) {
    options.on_progress = [this](const agent::Progress& progress) { show(progress); };
    options.on_wait = [this](const agent::Progress& progress) {
      view_.update(progress);
      if (progress.tokens != noted_tokens_) note(progress);
    };
    options.on_confirm = [this](std::string_view what) {
      view_.enter(SearchPhase::confirm, std::string(what));
    };
    options.on_new_best = [this](const Completed& best, const PredictedScore* predicted) {
      write(best, predicted);
    };
  }
  /// The files of what leads in the end; those of a kernel that was disqualified are removed.
  void finish(const agent::LoopResult& loop) {
    summary_.predicted = loop.predicted;
    if (!writes_files()) return;
    if (loop.best)
      write_kernel_files(run_.paths, *run_.problem, *loop.best, summary_);
    else if (written_)
      remove_kernel_files(run_.paths);
  }

 private:
  [[nodiscard]] bool replaying() const { return run_.journal != nullptr && run_.journal->replaying(); }
  void show(const agent::Progress& progress) {
    summary_.evaluations = progress.evaluated;
    summary_.verified = progress.verified;
    summary_.wall_s = progress.elapsed_s;
    if (progress.last) note_baseline(summary_, *run_.problem, progress.last->result);
    view_.set_baseline(summary_.baseline_ns, summary_.baseline_label);
    view_.update(progress);
    note(progress);
  }
  void note(const agent::Progress& progress) {
    if (!run_.on_progress || replaying()) return;
    noted_tokens_ = progress.tokens;
    run_.on_progress(progress, summary_);
  }
  void write(const Completed& best, const PredictedScore* predicted) {
    written_ = true;
    if (replaying()) return;  // was written then
    summary_.predicted = predicted ? std::optional(*predicted) : std::nullopt;
    if (writes_files()) write_kernel_files(run_.paths, *run_.problem, best, summary_);
    if (run_.on_new_best) run_.on_new_best(best);
  }
  [[nodiscard]] bool writes_files() const { return !run_.paths.kernel.empty(); }

  const SearchRun& run_;
  codegen::RunSummary& summary_;
  LiveView& view_;
  bool written_ = false;
  std::int64_t noted_tokens_ = 0;  ///< that models had used when on_progress was called last
};

/// What ranks the candidates of the CPU device; said, since costs and predicted times are no measurements.
TargetModel target_model(const SearchRun& run, const Config& config) {
  if (run.target.kind != DeviceKind::emulator || !run.predict) return {};
  TargetModel model = make_target_predictor(*run.problem, run.target.arch, config);
  if (!run.quiet) print_stderr("note: {}\n", model.basis);
  return model;
}

/// The leader in turns with libraries, which the loop did, and with PyTorch. A search that has ended is not lost to what
/// only says how good its result is.
KernelBaselines leader_in_turns(const SearchRun& run, const Config& config, const agent::LoopResult& loop,
                                LiveView& view, const std::atomic<bool>& stop) {
  KernelBaselines found{.turns = loop.library_turns.turns, .notes = loop.library_turns.notes};
  if (!loop.best || run.baselines.empty() || stop.load() || loop.suspended) return found;
  try {
    KernelBaselines more = time_in_turns(
        {.problem = run.problem,
         .candidate = loop.best->request.candidate,
         .baselines = run.baselines,
         .workloads = {}},
        run.target, config,
        [&](std::string_view what) { view.enter(SearchPhase::confirm, std::string(what)); }, &stop);
    std::ranges::move(more.turns, std::back_inserter(found.turns));
    std::ranges::move(more.notes, std::back_inserter(found.notes));
  } catch (const Error& error) {
    found.notes.push_back(fmt::format("baselines: {}", error.what()));
  }
  return found;
}

/// Kept with the search where it has an end of its own.
void judge_end(const SearchRun& run, VariantStore& store, SearchOutcome& outcome) {
  const agent::LoopResult& loop = outcome.loop;
  if (loop.interrupted || loop.suspended || !loop.best || !loop.best->result.score_ns) return;
  outcome.verdict = verdict_of({.reason = loop.stop_reason,
                                .limit_headroom = headroom_of(loop.best->result.score_ns, limit_of(run)),
                                .counters_headroom = outcome.counters_headroom,
                                .gain = loop.progress.gain});
  outcome.summary.verdict = verdict_text(*outcome.verdict);
  store.note_verdict(loop.search, *outcome.verdict);
}

}  // namespace

std::optional<double> limit_of(const SearchRun& run) {
  if (run.target.kind != DeviceKind::cuda || !run.target.device) return std::nullopt;
  std::vector<double> floors, weights;
  for (const Workload& workload : run.problem->workloads) {
    if (!workload.has(WorkloadRole::time)) continue;
    floors.push_back(floor_of(*run.problem, workload, *run.target.device).time.value());
    weights.push_back(workload.weight);
  }
  if (floors.empty() || std::ranges::find(floors, 0.0) != floors.end()) return std::nullopt;
  return weighted_geometric_mean(floors, weights);
}

Json to_json(const agent::Budgets& b) {
  Json json = Json::object();
  if (b.max_evaluations) json["max_evaluations"] = *b.max_evaluations;
  if (b.max_compilations) json["max_compilations"] = *b.max_compilations;
  if (b.max_tokens) json["max_tokens"] = *b.max_tokens;
  if (b.max_cost_usd) json["max_cost_usd"] = *b.max_cost_usd;
  if (b.max_wall) json["max_wall_ms"] = b.max_wall->count();
  if (b.target_ns) json["target_ns"] = *b.target_ns;
  if (b.patience) json["patience"] = *b.patience;
  if (b.least_gain) json["least_gain"] = *b.least_gain;
  if (b.least_headroom) json["least_headroom"] = *b.least_headroom;
  return json;
}

void check_strategy(const std::string& name) {
  if (agent::find_strategy(name) == nullptr) fail(ExitCode::usage, "{}", agent::unknown_strategy(name));
}

SearchOutcome run_search(const SearchRun& run, const Config& config, VariantStore& store,
                         const std::atomic<bool>& stop) {
  LiveView own;
  LiveView& view = run.view != nullptr ? *run.view : own;
  if (run.view == nullptr) own.open(run.quiet);
  view.describe(described(run));
  view.enter(SearchPhase::start);
  auto evaluator = evaluator_of(run, config, view);
  if (run.journal != nullptr) evaluator = run.journal->around(std::move(evaluator));
  if (!run.target.notice.empty()) print_stderr("note: {}\n", run.target.notice);
  SearchOutcome outcome{.loop = {},
                        .summary = summarise(run),
                        .baselines = {},
                        .bottleneck = "",
                        .profiles = {},
                        .loop_start = {},
                        .set = nullptr};
  const DeviceFacts device = evaluator->capabilities().device;
  agent::LoopOptions options = options_on(run, config, device, view);
  options.stop_requested = &stop;
  const auto predictor = run.predict && run.target.kind == DeviceKind::cuda
                             ? make_predictor(run.target.arch, *run.target.device, config)
                             : nullptr;
  options.predictor = predictor.get();
  const TargetModel target = target_model(run, config);
  options.target_predictor = target.predictor.get();
  outcome.summary.ranking = target.basis;
  const db::InsightScope scope = scope_of(run, device);
  const auto source = make_source(run, options, device, config, scope);
  options.source = source.get();
  RunReporter reporter(run, outcome.summary, view);
  reporter.report_to(options);
  const SystemClock clock;
  outcome.loop_start = clock.now();
  outcome.loop = agent::run_loop(options, *evaluator, store, clock);
  evaluator.reset();  // its device worker holds memory that the other sides of turns need
  outcome.baselines = leader_in_turns(run, config, outcome.loop, view, stop);
  view.close();
  report_leader(run, device, outcome);
  judge_end(run, store, outcome);
  reporter.finish(outcome.loop);
  if (!run.database.empty() && outcome.summary.executed) learn_from(run, scope, outcome);
  return outcome;
}

}  // namespace ak::app
