// SPDX-License-Identifier: Apache-2.0
#include "tools/search_report.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "app/evaluate/figure_texts.h"
#include "app/precision/precision_search.h"
#include "app/predict/target_prediction.h"
#include "app/sets/set_report.h"
#include "core/text/suggest.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::tools {
namespace {

/// " BM=128 BN=64".
std::string point_text(const TunableValues& point) {
  std::string text;
  for (const auto& [name, value] : point) text += fmt::format(" {}={}", name, value);
  return text;
}

/// The commonest failures of a search that found nothing.
void print_failures(RowId search, const std::filesystem::path& database) {
  const db::Table table = db::query(
      database,
      fmt::format(
          "SELECT count(*) || ' ended as ' || status || ': ' || min(message) AS line FROM failures WHERE "
          "search = {} GROUP BY status ORDER BY count(*) DESC LIMIT 3",
          search),
      0, std::chrono::seconds(10));
  for (const db::TableRow& row : db::rows_of(table)) fmt::print("  {}\n", sanitize(row.text("line")));
}

void print_leaders(const agent::LoopResult& loop, bool emulated) {
  constexpr std::size_t kShown = 5;
  const bool predicted = loop.predicted.has_value();
  fmt::print("best points{}:\n", predicted  ? " (times predicted, not measured)"
                                 : emulated ? " (by emulated cost)"
                                            : "");
  for (std::size_t i = 0; i < std::min(kShown, loop.leaders.size()); ++i) {
    const agent::Leader& leader = loop.leaders[i];
    const auto shown_ns = leader.predicted ? std::optional(leader.predicted->score.value()) : leader.score_ns;
    fmt::print("  {}. {:>10} {}\n", i + 1, shown_ns ? app::format_ns(*shown_ns) : "built",
               point_text(leader.candidate.tunables));
  }
}

/// What models used, what limited them, and why they ended where the search continued.
void print_models(const app::SearchRun& search, const agent::LoopResult& loop) {
  if (loop.progress.calls > 0)
    fmt::print("model: {}, {} answers that were not candidates\n", app::spending_text(loop.progress),
               loop.progress.refused);
  if (search.default_token_limit)
    fmt::print("  models may use {} tokens unless --max-tokens or --max-cost-usd says otherwise\n",
               app::kDefaultMaxTokens);
  if (!loop.source_end.empty() && loop.source_end != loop.stop_reason)
    fmt::print("  no more candidates by models: {}\n", loop.source_end);
}

void print_no_kernel(const agent::LoopResult& loop, const codegen::RunSummary& run,
                     const std::filesystem::path& database) {
  fmt::print("no {} kernel was found; see: alphakernel query --db {} \"SELECT * FROM failures\"\n",
             run.executed ? "verified" : "working", database.string());
  print_failures(loop.search, database);
  if (loop.held_out.disqualified > 0) fmt::print("held-out shapes: {}\n", run.held_out);
}

/// Points that were not measured, and why.
void print_unmeasured(const agent::Progress& progress) {
  if (progress.duplicates > 0)
    fmt::print("{} of them were the same program as another, and share its times\n", progress.duplicates);
  if (progress.reused > 0)
    fmt::print("{} points were measured by earlier searches, and not again\n", progress.reused);
  if (progress.pruned > 0)
    fmt::print("{} points were not measured: a model predicted that they are too slow\n", progress.pruned);
}

/// Its point, and those that are as fast.
void print_best_point(const agent::LoopResult& loop) {
  fmt::print("best: {}{}\n", std::filesystem::path(loop.best->request.candidate.name).filename().string(),
             point_text(loop.best->request.candidate.tunables));
  for (const agent::Tie& tie : loop.ties) {
    fmt::print("  tied with {}{}, which takes {:.2f} % {}\n",
               std::filesystem::path(tie.with.candidate.name).filename().string(),
               point_text(tie.with.candidate.tunables), std::abs(100 * (tie.ratio.ratio - 1)),
               tie.ratio.ratio < 1 ? "less" : "more");
  }
  if (loop.predicted)
    fmt::print("  predicted, not measured: {}, by the model {}\n", app::predicted_text(*loop.predicted),
               loop.predicted->model);
}

/// What was done with it after the search, and what limits it.
void print_judgement(const codegen::RunSummary& run) {
  if (run.executed) fmt::print("  held-out shapes: {}\n", run.held_out);
  if (!run.examination.empty()) fmt::print("  examined: {}\n", run.examination);
  if (!run.other_devices.empty()) fmt::print("  on other devices: {}\n", run.other_devices);
  if (!run.final_measurement.empty()) fmt::print("  {}\n", run.final_measurement);
  if (!run.energy.empty()) fmt::print("  energy: {}\n", run.energy);
  for (const std::string& bottleneck : run.bottlenecks) fmt::print("  limited by {}\n", bottleneck);
  for (const std::string& cross_check : run.duration_checks) fmt::print("  cross-check: {}\n", cross_check);
}

/// What it is compared with, and what its figures are.
void print_standing(const agent::LoopResult& loop, const codegen::RunSummary& run) {
  if (run.baseline_ns && loop.best->result.score_ns) {
    fmt::print("  {:.2f} times as fast as {} ({}{})\n", *run.baseline_ns / *loop.best->result.score_ns,
               run.baseline_label, app::format_ns(*run.baseline_ns),
               run.emulated ? ", by emulated cost" : "");
  }
  if (!run.parts.ported.empty()) fmt::print("  ported {}\n", run.parts.ported);
  for (const std::string& note : run.baseline_notes) fmt::print("  {}\n", note);
  if (run.emulated)
    fmt::print("  checked on the CPU emulator; the costs are estimates, not GPU times\n{}",
               run.ranking.empty() ? "" : "  " + run.ranking + "\n");
  if (!run.executed)
    fmt::print("  nothing was executed: this kernel is built and ranked by its resources, not verified\n");
}

void print_places(const app::OutputPaths& paths, const std::filesystem::path& database) {
  std::string files = paths.kernel.string();
  for (const auto* file : {&paths.explanation, &paths.test, &paths.launcher, &paths.result})
    if (std::filesystem::exists(*file)) files += ", " + file->filename().string();
  fmt::print("wrote {}\ndatabase: {}\n", files, database.string());
}

void print_summary(const app::SearchRun& search, const app::SearchOutcome& outcome,
                   const std::filesystem::path& database) {
  const agent::LoopResult& loop = outcome.loop;
  const codegen::RunSummary& run = outcome.summary;
  const ProblemInstance& problem = *search.problem;
  fmt::print("{} for {}: {} tried, {} {}, {:.1f} s ({})\n", problem.definition.name, run.arch,
             loop.progress.evaluated, loop.progress.verified, run.executed ? "verified" : "built",
             loop.progress.elapsed_s, loop.stop_reason);
  print_models(search, loop);
  if (!loop.best) return print_no_kernel(loop, run, database);
  print_unmeasured(loop.progress);
  print_best_point(loop);
  if (loop.progress.gain) fmt::print("  {}\n", app::gain_text(*loop.progress.gain));
  if (!run.verdict.empty()) fmt::print("  verdict: {}\n", run.verdict);
  if (outcome.set)
    for (const std::string& line : app::set_lines(*outcome.set)) fmt::print("{}\n", line);
  if (outcome.precision)
    for (const std::string& line : app::precision_lines(*outcome.precision)) fmt::print("{}\n", line);
  fmt::print("{}", app::evaluation_text(problem, loop.best->result));
  print_judgement(run);
  fmt::print("{}", app::baselines_text(outcome.baselines));
  print_standing(loop, run);
  print_places(search.paths, database);
}

}  // namespace

void print_search(const app::SearchSetup& setup, const app::SearchOutcome& outcome, const Json& result) {
  if (setup.json) {
    fmt::print("{}\n", result.dump());
  } else {
    if (setup.show_leaders && outcome.loop.leaders.size() > 1)
      print_leaders(outcome.loop, outcome.summary.emulated);
    print_summary(setup.run, outcome, setup.database);
  }
  std::fflush(stdout);  // the next search of a session takes long
}

}  // namespace ak::tools
