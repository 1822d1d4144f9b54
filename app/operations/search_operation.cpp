// SPDX-License-Identifier: Apache-2.0
// A fast kernel for a problem.
#include <filesystem>

#include "app/audit/problem_audits.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "app/search/search_command.h"
#include "app/sets/kernel_search.h"
#include "app/sets/set_report.h"
#include "codegen/emit/emit.h"
#include "core/text/json_line.h"
#include "db/database.h"

namespace ak::operations {
namespace {

template <class T>
std::optional<T> given(const Json& request, const char* name) {
  return request.contains(name) ? std::optional(request[name].get<T>()) : std::nullopt;
}

app::SearchFlags search_flags(const Json& request, const Context& context) {
  app::SearchFlags flags;
  flags.arch = request.value("arch", "");
  flags.device = request.value("device", "");
  flags.proposer = "search";
  flags.strategy = request.at("strategy");
  flags.target = request.value("target_performance", "");
  flags.database = context.database.string();
  flags.seed = given<std::uint64_t>(request, "seed");
  flags.max_evaluations = given<std::int64_t>(request, "max_evaluations");
  flags.max_compilations = given<std::int64_t>(request, "max_compilations");
  flags.max_minutes = given<double>(request, "max_minutes");
  flags.patience = given<std::int64_t>(request, "patience");
  flags.stop_when_done = given<double>(request, "stop_when_done");
  flags.unaudited = request.at("unaudited");
  flags.no_earlier = !request.at("transfer").get<bool>();
  flags.deterministic = request.at("deterministic");
  flags.per_shape = request.value("per_shape", false);
  flags.prepared_copies = request.value("prepared_copies", 1);
  flags.quiet = true;
  return flags;
}

/// Adds what tells a point from others.
void add_point(Json& json, const Candidate& candidate) {
  json["template"] = std::filesystem::path(candidate.name).filename().string();
  json["tunables"] = Json::object();
  for (const auto& [name, value] : candidate.tunables) json["tunables"][name] = value;
}

void add_score(Json& json, const std::optional<double>& score_ns, bool emulated) {
  if (score_ns) json[emulated ? "emulated_cost_us" : "score_us"] = rounded(*score_ns / 1e3);
}

void add_prediction(Json& json, const std::optional<PredictedScore>& predicted) {
  if (!predicted) return;
  json["predicted_us"] = rounded(predicted->score.value() / 1e3);
  json["predicted_low_us"] = rounded(predicted->low.value() / 1e3);
  json["predicted_high_us"] = rounded(predicted->high.value() / 1e3);
}

Json progress_json(const agent::Progress& progress, bool emulated) {
  Json json{{"evaluated", progress.evaluated}, {"verified", progress.verified},
            {"failed", progress.failed},       {"in_flight", progress.in_flight},
            {"pruned", progress.pruned},       {"space_points", progress.space_points},
            {"elapsed_s", progress.elapsed_s}};
  add_score(json, progress.best_ns, emulated);
  if (progress.best_predicted_ns) json["predicted_us"] = rounded(*progress.best_predicted_ns / 1e3);
  return json;
}

Json new_best_json(const Completed& best, const ProblemInstance& problem, bool emulated) {
  Json json = Json::object();
  add_point(json, best.request.candidate);
  add_score(json, best.result.score_ns, emulated);
  json["source"] = codegen::emit_kernel(problem, best.request.candidate);
  return json;
}

Json leader_json(const agent::Leader& leader, bool emulated) {
  Json json{{"variant", leader.variant}};
  add_point(json, leader.candidate);
  add_score(json, leader.score_ns, emulated);
  add_prediction(json, leader.predicted);
  return json;
}

void report(app::SearchRun& run, const Callbacks& callbacks, bool emulated) {
  if (!callbacks.on_event) return;
  run.on_progress = [&callbacks, emulated](const agent::Progress& progress, const codegen::RunSummary&) {
    callbacks.on_event("progress", progress_json(progress, emulated));
  };
  run.on_new_best = [&callbacks, problem = run.problem, emulated](const Completed& best) {
    callbacks.on_event("new_best", new_best_json(best, *problem, emulated));
  };
}

Json search_json(const app::SearchRun& run, const app::SearchOutcome& outcome, bool emulated) {
  const agent::LoopResult& loop = outcome.loop;
  const agent::Progress& progress = loop.progress;
  Json json{{"problem", run.problem->definition.name},
            {"target", target_json(run.target)},
            {"emulated", emulated},
            {"executed", outcome.summary.executed},
            {"stop_reason", loop.stop_reason},
            {"interrupted", loop.interrupted},
            {"search", loop.search},
            {"evaluated", progress.evaluated},
            {"verified", progress.verified},
            {"failed", progress.failed},
            {"pruned", progress.pruned},
            {"duplicates", progress.duplicates},
            {"reused", progress.reused},
            {"wall_s", progress.elapsed_s}};
  if (progress.gain) {
    json["expected_gain"] = progress.gain->expected;
    json["most_gain"] = progress.gain->high;
  }
  if (outcome.summary.baseline_ns)
    json["baseline"] = {{"name", outcome.summary.baseline_label},
                        {"time_us", rounded(*outcome.summary.baseline_ns / 1e3)}};
  if (!outcome.summary.ranking.empty()) json["ranking"] = outcome.summary.ranking;
  if (outcome.summary.executed) json["held_out"] = outcome.summary.held_out;
  if (loop.best) {
    json["best"] = {{"variant", loop.best_variant.value_or(0)}};
    json["best"].update(new_best_json(*loop.best, *run.problem, emulated));
    add_prediction(json["best"], loop.predicted);
  }
  json["set"] = Json::array();
  if (outcome.set) json["set"] = app::set_lines(*outcome.set);
  json["leaders"] = Json::array();
  for (const agent::Leader& leader : loop.leaders) json["leaders"].push_back(leader_json(leader, emulated));
  return json;
}

/// Runs what is set up except for the search's beginnings, and reports.
Answer run_to_answer(app::SearchSetup setup, const app::SearchFlags& flags, const Callbacks& callbacks) {
  app::SearchRun& run = setup.run;
  const bool emulated = run.target.kind == DeviceKind::emulator;
  app::leave_out_unaskable_models(run);
  app::limit_tokens(run);
  run.audited = app::require_audit(*run.problem, flags.unaudited, setup.config, setup.database);
  app::add_first_points(setup, flags);
  app::add_earlier_answers(setup, flags);
  report(run, callbacks, emulated);
  const auto store = db::open_store(setup.database);
  const std::atomic<bool> never{false};
  const app::SearchOutcome outcome =
      app::find_kernel(run, setup.config, *store, callbacks.stop != nullptr ? *callbacks.stop : never);
  return {.content = search_json(run, outcome, emulated), .failed = !outcome.loop.best};
}

}  // namespace

Answer search(const Json& request, const Context& context, const Callbacks& callbacks) {
  const app::SearchFlags flags = search_flags(request, context);
  app::SearchSetup setup =
      app::set_up_search(flags, instance_of(problem_of(request, ""), request, {}),
                         command_of(context, "search " + one_line(request)), context.config);
  app::SearchRun& run = setup.run;
  run.templates = app::starting_points(*run.problem, run.target.arch, {}, request.value("template", ""), {});
  return run_to_answer(std::move(setup), flags, callbacks);
}

Answer tune(const Json& request, const Context& context, const Callbacks& callbacks) {
  const app::SearchFlags flags = search_flags(request, context);
  const KernelTask task = kernel_task(request, context);
  app::SearchSetup setup =
      app::set_up_search(flags, task.problem, command_of(context, "tune"), context.config);
  app::SearchRun& run = setup.run;
  run.templates = app::file_to_tune(task.kernel.candidate, *run.problem, run.target.arch, {});
  run.own_kernel = true;
  run.resume = !request.at("fresh").get<bool>();
  return run_to_answer(std::move(setup), flags, callbacks);
}

}  // namespace ak::operations
