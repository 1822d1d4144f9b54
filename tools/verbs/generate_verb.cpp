// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>

#include "agent/search/strategy.h"
#include "codegen/emit.h"
#include "core/error.h"
#include "core/file.h"
#include "core/hash.h"
#include "db/database.h"
#include "tools/command_line.h"
#include "tools/interrupt.h"
#include "tools/problem_audits.h"
#include "tools/progress_line.h"
#include "tools/run_files.h"
#include "tools/search_run.h"

namespace ak::tools {
namespace {

struct GenerateFlags {
  std::string arch, device, output, start, only, proposer = "auto", strategy = "portfolio", model, database,
                                                 cache, target;
  std::vector<std::string> fixed;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_evaluations, max_compilations, max_tokens;
  std::optional<double> max_minutes, max_cost_usd;
  int workers = 0;
  bool json = false, quiet = false, unaudited = false, no_predict = false;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  generate_kernel --algorithm softmax --dtype bf16 --arch h200 --output softmax.cu\n"
    "  generate_kernel --algorithm reduce_sum --shape N=1000000 --max-minutes 2 --output sum.cu\n"
    "  generate_kernel --start my_kernel.cu --problem my_problem/ --output fast.cu\n"
    "  generate_kernel --help --algorithm softmax      # lists that algorithm's parameters\n";

std::string strategy_help() {
  std::string help = "how to choose the next point:";
  for (const auto& entry : agent::strategies()) help += fmt::format(" {} ({});", entry.name, entry.summary);
  help.pop_back();
  return help;
}

void add_flags(CLI::App& app, GenerateFlags& flags) {
  app.add_option("--arch,--target", flags.arch,
                 "what to compile for: sm_90a, hopper, h200, native (default: native)");
  app.add_option(
      "--device", flags.device,
      "where to run candidates: auto, cuda, cuda:N, emulator (on the CPU: checked, costs estimated), "
      "none (build and rank only)");
  app.add_option("--output,-o", flags.output,
                 "file to write the kernel to; explanation, test and result go beside it");
  app.add_option("--start", flags.start,
                 "your own kernel: seeds the search and is the baseline of the report");
  app.add_option("--template", flags.only, "search only this template, e.g. softmax_online.cu");
  app.add_option("--set", flags.fixed,
                 "search only points with this value of a tunable, e.g. BM=128 or BM=64,128")
      ->allow_extra_args(false);
  app.add_option("--proposer", flags.proposer, "who proposes candidates: auto, search (default: auto)");
  app.add_option("--strategy", flags.strategy, strategy_help());
  app.add_option("--model", flags.model, "language model as provider:model (no provider is built in yet)");
  app.add_flag("--no-predict", flags.no_predict,
               "measure every point, also where a fitted model foretells that it is too slow");
  app.add_option("--seed", flags.seed, "seed of the search and of the inputs (default: random, stored)");
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--cache", flags.cache,
                 "build cache folder (default: $ALPHAKERNEL_CACHE or the user's cache folder)");
  app.add_option("--workers", flags.workers, "compile workers (default: one per core, at most 16)");
  app.add_option("--max-evaluations", flags.max_evaluations, "stop after this many candidates")
      ->group("Budgets");
  app.add_option("--max-compilations", flags.max_compilations,
                 "stop after this many builds that were not cached")
      ->group("Budgets");
  app.add_option("--max-minutes", flags.max_minutes, "stop after this much wall time")->group("Budgets");
  app.add_option("--max-tokens", flags.max_tokens, "stop after this many model tokens")->group("Budgets");
  app.add_option("--max-cost-usd", flags.max_cost_usd, "stop after this much money")->group("Budgets");
  app.add_option("--target-performance", flags.target, "stop when reached: 60us, 500TFLOPS, 2000GB/s, 90%sol")
      ->group("Budgets");
  add_unaudited_flag(app, flags.unaudited);
  app.add_flag("--json", flags.json, "print the result as one JSON object on stdout");
  app.add_flag("--quiet,-q", flags.quiet, "no progress");
}

void check_flags(const GenerateFlags& flags) {
  if (flags.output.empty()) fail(ExitCode::usage, "say where to write the kernel: --output FILE.cu");
  check_strategy(flags.strategy);
  if (flags.proposer != "auto" && flags.proposer != "search") {
    fail(ExitCode::usage,
         "proposer '{}' is not available; expected auto or search (no language-model provider is built in)",
         flags.proposer);
  }
  if (!flags.model.empty()) {
    if (flags.max_cost_usd)
      fail(ExitCode::usage, "model '{}' has no price entry, so --max-cost-usd cannot be kept", flags.model);
    fail(ExitCode::usage,
         "model '{}': no language-model provider is built in; leave --model out to use search", flags.model);
  }
  if (flags.max_minutes && *flags.max_minutes <= 0) fail(ExitCode::usage, "--max-minutes must be above 0");
  for (const auto& [name, value] : {std::pair{"--max-evaluations", flags.max_evaluations},
                                    {"--max-compilations", flags.max_compilations}}) {
    if (value && *value < 1) fail(ExitCode::usage, "{} must be at least 1", name);
  }
}

agent::Budgets budgets(const GenerateFlags& flags, agent::Budgets defaults) {
  if (flags.max_evaluations) defaults.max_evaluations = flags.max_evaluations;
  if (flags.max_compilations) defaults.max_compilations = flags.max_compilations;
  if (flags.max_tokens) defaults.max_tokens = flags.max_tokens;
  if (flags.max_cost_usd) defaults.max_cost_usd = flags.max_cost_usd;
  if (flags.max_minutes)
    defaults.max_wall = std::chrono::milliseconds(std::llround(*flags.max_minutes * 60'000));
  return defaults;
}

FixedTunables fixed_tunables(const GenerateFlags& flags) {
  FixedTunables fixed;
  for (const std::string& text : flags.fixed) parse_fixed(text, fixed);
  return fixed;
}

void print_summary(const ProblemInstance& problem, const agent::LoopResult& loop,
                   const codegen::RunSummary& run, const OutputPaths& paths,
                   const std::filesystem::path& database) {
  fmt::print("{} for {}: {} tried, {} {}, {:.1f} s ({})\n", problem.definition.name, run.arch,
             loop.progress.evaluated, loop.progress.verified, run.executed ? "verified" : "built",
             loop.progress.elapsed_s, loop.stop_reason);
  if (!loop.best) {
    fmt::print("no {} kernel was found; see: alphakernel query --db {} \"SELECT * FROM failures\"\n",
               run.executed ? "verified" : "working", database.string());
    if (loop.held_out.disqualified > 0) fmt::print("held-out shapes: {}\n", run.held_out);
    return;
  }
  std::string chosen;
  for (const auto& [name, value] : loop.best->request.candidate.tunables)
    chosen += fmt::format(" {}={}", name, value);
  if (loop.progress.pruned > 0)
    fmt::print("{} points were not measured: a model foretold that they are too slow\n",
               loop.progress.pruned);
  fmt::print("best: {}{}\n", std::filesystem::path(loop.best->request.candidate.name).filename().string(),
             chosen);
  fmt::print("{}", evaluation_text(problem, loop.best->result));
  if (run.executed) fmt::print("  held-out shapes: {}\n", run.held_out);
  if (!run.examination.empty()) fmt::print("  examined: {}\n", run.examination);
  if (!run.final_measurement.empty()) fmt::print("  {}\n", run.final_measurement);
  if (!run.energy.empty()) fmt::print("  energy: {}\n", run.energy);
  for (const std::string& bottleneck : run.bottlenecks) fmt::print("  limited by {}\n", bottleneck);
  for (const std::string& witness : run.witnesses) fmt::print("  second witness: {}\n", witness);
  if (run.baseline_ns && loop.best->result.score_ns) {
    fmt::print("  {:.2f} times as fast as {} ({}{})\n", *run.baseline_ns / *loop.best->result.score_ns,
               run.baseline_label, format_ns(*run.baseline_ns), run.emulated ? ", by emulated cost" : "");
  }
  for (const std::string& note : run.baseline_notes) fmt::print("  {}\n", note);
  if (run.emulated)
    fmt::print("  checked on the CPU emulator; the costs are estimates to rank variants, not GPU times\n");
  if (!run.executed)
    fmt::print("  nothing was executed: this kernel is built and ranked by its resources, not verified\n");
  fmt::print("wrote {}, {}, {}, {}\ndatabase: {}\n", paths.kernel.string(),
             paths.explanation.filename().string(), paths.test.filename().string(),
             paths.result.filename().string(), database.string());
}

/// What the run cost besides time: for benchmarks, and for people with small machines.
void add_costs(Json& json, double setup_s) {
  json["setup_s"] = setup_s;
  if (!json["first_verified_s"].is_null())
    json["first_verified_s"] = json["first_verified_s"].get<double>() + setup_s;
  rusage self = {}, children = {};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  json["peak_rss_bytes"] = self.ru_maxrss * 1024;
  json["largest_worker_peak_rss_bytes"] = children.ru_maxrss * 1024;
}

int exit_code(const agent::LoopResult& loop) {
  if (loop.interrupted) return static_cast<int>(ExitCode::interrupted);
  return static_cast<int>(loop.best ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace

int run_generate(const Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  CLI::App app{
      "Find a fast, verified CUDA kernel: search a template's parameters, build, check and time every "
      "variant.",
      "generate_kernel"};
  set_style(app, kExamples);
  GenerateFlags flags;
  add_flags(app, flags);
  const ProblemFlags problem_flags(app, arguments);
  if (!parse(app, arguments)) return 0;
  Config config = load_config();
  if (!flags.cache.empty()) config.cache = flags.cache;
  if (flags.workers > 0) config.workers = flags.workers;
  check_flags(flags);
  const auto problem = problem_flags.instance();
  const OutputPaths paths = output_paths(flags.output);
  const Target target = choose_target(flags.device.empty() ? config.device : flags.device,
                                      flags.arch.empty() ? config.arch : flags.arch);
  const std::filesystem::path database = database_file(flags.database, config);
  SearchRun search{
      .problem = problem,
      .templates = starting_points(*problem, target.arch, flags.start, flags.only, fixed_tunables(flags)),
      .target = target,
      .strategy = flags.strategy,
      .seed = flags.seed.value_or(random_seed() >> 1),  // SQLite integers are signed
      .budgets = budgets(flags, config.budgets),
      .command = fmt::format("generate_kernel {}", fmt::join(arguments, " ")),
      .own_kernel = !flags.start.empty(),
      .predict = config.predict && !flags.no_predict,
      .quiet = flags.quiet || flags.json,
      .paths = paths};
  if (!flags.target.empty())
    search.budgets.target_ns = parse_target_performance(flags.target, *problem, target.device);
  search.audited = require_audit(*problem, flags.unaudited, config, database);
  const auto store = db::open_store(database);
  const InterruptGuard interrupt;
  const SearchOutcome outcome = run_search(search, config, *store, interrupt.requested());
  const agent::LoopResult& loop = outcome.loop;
  const codegen::RunSummary& run = outcome.summary;
  const double setup_s = std::chrono::duration<double>(outcome.loop_start - command_start).count();
  Json json = result_json(*problem, loop, run, paths);
  json["profiles"] = outcome.profiles;
  json["profile_note"] = loop.profile.note;
  add_costs(json, setup_s);
  if (loop.best) write_file_atomically(paths.result, json.dump(2) + "\n");
  if (flags.json) {
    fmt::print("{}\n", json.dump());
  } else {
    print_summary(*problem, loop, run, paths, database);
  }
  return exit_code(loop);
}

}  // namespace ak::tools
