// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <map>

#include "agent/loop.h"
#include "agent/search/strategy.h"
#include "codegen/emit.h"
#include "core/error.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/stats.h"
#include "core/suggest.h"
#include "db/database.h"
#include "tools/assembler.h"
#include "tools/command_line.h"
#include "tools/interrupt.h"
#include "tools/progress_line.h"
#include "tools/run_files.h"

namespace ak::tools {
namespace {

struct GenerateFlags {
  std::string arch, device, output, start, proposer = "auto", strategy = "random", model, database, cache,
                                           target;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_evaluations, max_compilations, max_tokens;
  std::optional<double> max_minutes, max_cost_usd;
  int workers = 0;
  bool json = false, quiet = false;
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
  app.add_option("--proposer", flags.proposer, "who proposes candidates: auto, search (default: auto)");
  app.add_option("--strategy", flags.strategy, strategy_help());
  app.add_option("--model", flags.model, "language model as provider:model (no provider is built in yet)");
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
  app.add_flag("--json", flags.json, "print the result as one JSON object on stdout");
  app.add_flag("--quiet,-q", flags.quiet, "no progress");
}

void check_flags(const GenerateFlags& flags) {
  if (flags.output.empty()) fail(ExitCode::usage, "say where to write the kernel: --output FILE.cu");
  if (!agent::find_strategy(flags.strategy)) {
    std::vector<std::string> names;
    for (const auto& entry : agent::strategies()) names.emplace_back(entry.name);
    fail(ExitCode::usage, "unknown strategy '{}'{}; known: {}", flags.strategy,
         did_you_mean(flags.strategy, names), fmt::join(names, ", "));
  }
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

Json budgets_json(const agent::Budgets& b) {
  Json json = Json::object();
  if (b.max_evaluations) json["max_evaluations"] = *b.max_evaluations;
  if (b.max_compilations) json["max_compilations"] = *b.max_compilations;
  if (b.max_tokens) json["max_tokens"] = *b.max_tokens;
  if (b.max_cost_usd) json["max_cost_usd"] = *b.max_cost_usd;
  if (b.max_wall) json["max_wall_ms"] = b.max_wall->count();
  if (b.target_ns) json["target_ns"] = *b.target_ns;
  return json;
}

Candidate read_candidate(const std::string& name, const std::string& source) {
  Result<Candidate> candidate = parse_candidate(name, source);
  if (!candidate) {
    const Complaint& complaint = candidate.error();
    fail(ExitCode::bad_input, "{}{}: {}", name, complaint.line > 0 ? fmt::format(":{}", complaint.line) : "",
         complaint.message);
  }
  return std::move(candidate).value();
}

/// The user's kernel first, then the problem's templates.
std::vector<Candidate> starting_points(const GenerateFlags& flags, const ProblemInstance& problem) {
  std::vector<Candidate> candidates;
  if (!flags.start.empty()) candidates.push_back(read_candidate(flags.start, read_file(flags.start)));
  for (const CandidateFile& file : problem.templates) {
    // `problem new` keeps the kernel it was made from in the folder: not twice.
    if (!candidates.empty() && sha256_hex(file.source) == candidates.front().source_hash()) continue;
    candidates.push_back(read_candidate(problem.problem + "/" + file.name, file.source));
  }
  if (candidates.empty()) {
    fail(ExitCode::bad_input, "{} has no kernel template to search; give one with --start FILE.cu",
         problem.folder.string());
  }
  return candidates;
}

/// The fastest of the baselines that came with the first timed results, by weighted geometric mean; one that
/// misses shapes is left out. Nothing when there is none.
void note_baseline(codegen::RunSummary& run, const ProblemInstance& problem, const EvaluationResult& result) {
  if (run.baseline_ns) return;
  struct Times {
    std::vector<double> medians, weights;
  };
  std::map<std::string, Times> by_label;
  std::size_t most = 0;
  for (const Diagnostic& d : result.outcome.diagnostics) {
    if (d.severity == "note" && d.message.starts_with("baseline ")) run.baseline_notes.push_back(d.message);
  }
  for (const Measurement& m : result.measurements) {
    if (m.role != MeasurementRole::baseline || m.median_ns <= 0) continue;
    Times& times = by_label[m.label];
    for (const Workload& workload : problem.workloads) {
      if (workload.name != m.workload) continue;
      times.medians.push_back(m.median_ns);
      times.weights.push_back(workload.weight);
    }
    most = std::max(most, times.medians.size());
  }
  for (const auto& [label, times] : by_label) {
    if (times.medians.empty() || times.medians.size() < most) continue;
    const double mean = weighted_geometric_mean(times.medians, times.weights);
    if (run.baseline_ns && *run.baseline_ns <= mean) continue;
    run.baseline_ns = mean;
    run.baseline_label = label;
  }
}

/// The user's own kernel is the baseline of the report where there is one.
void prefer_own_kernel(codegen::RunSummary& run, const agent::LoopResult& loop) {
  if (!loop.start || !loop.start->result.score_ns) return;
  run.baseline_ns = loop.start->result.score_ns;
  run.baseline_label = "your kernel";
}

codegen::RunSummary summarise(const GenerateFlags& flags, const Target& target, const std::string& command) {
  codegen::RunSummary run;
  run.device = target.device ? target.device->name : "none";
  run.arch = target.arch.sm();
  run.proposer = "search";
  run.strategy = flags.strategy;
  run.command = command;
  run.version = AK_VERSION;
  run.executed = target.executes();
  run.emulated = target.kind == DeviceKind::emulator;
  run.peak_bandwidth_gbps = target.device ? target.device->peak_bandwidth_gbps() : 0;
  return run;
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
    return;
  }
  std::string chosen;
  for (const auto& [name, value] : loop.best->request.candidate.tunables)
    chosen += fmt::format(" {}={}", name, value);
  fmt::print("best: {}{}\n", std::filesystem::path(loop.best->request.candidate.name).filename().string(),
             chosen);
  fmt::print("{}", evaluation_text(problem, loop.best->result));
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
  const std::vector<Candidate> templates = starting_points(flags, *problem);
  const OutputPaths paths = output_paths(flags.output);
  const Target target = choose_target(flags.device.empty() ? config.device : flags.device,
                                      flags.arch.empty() ? config.arch : flags.arch);

  const std::filesystem::path database = database_file(flags.database, config);
  const auto store = db::open_store(database);
  auto evaluator = make_evaluator(target, config);
  if (!target.notice.empty()) fmt::print(stderr, "note: {}\n", target.notice);

  agent::LoopOptions options;
  options.problem = problem;
  options.templates = templates;
  options.arch = target.arch;
  options.depth = target.executes() ? Depth::time : Depth::build;
  options.strategy = flags.strategy;
  options.seed = flags.seed.value_or(random_seed() >> 1);  // SQLite integers are signed
  options.budgets = budgets(flags, config.budgets);
  if (!flags.target.empty())
    options.budgets.target_ns = parse_target_performance(flags.target, *problem, target.device);
  const std::string command = fmt::format("generate_kernel {}", fmt::join(arguments, " "));
  options.session = {.command = command,
                     .proposer = "search",
                     .strategy = flags.strategy,
                     .seed = options.seed,
                     .budgets = budgets_json(options.budgets),
                     .version = AK_VERSION};
  codegen::RunSummary run = summarise(flags, target, command);
  const InterruptGuard interrupt;
  options.stop_requested = &interrupt.requested();
  ProgressLine progress(flags.quiet || flags.json, run.emulated);
  options.on_progress = [&](const agent::Progress& p) {
    run.evaluations = p.evaluated;
    run.verified = p.verified;
    run.wall_s = p.elapsed_s;
    if (p.last) note_baseline(run, *problem, p.last->result);
    progress.show(p);
  };
  options.on_new_best = [&](const Completed& best) { write_kernel_files(paths, *problem, best, run); };

  const SystemClock clock;
  const double setup_s = std::chrono::duration<double>(clock.now() - command_start).count();
  const agent::LoopResult loop = agent::run_loop(options, *evaluator, *store, clock);
  evaluator.reset();  // ends the workers, so that their memory is accounted for
  progress.finish();
  run.stop_reason = loop.stop_reason;
  if (!flags.start.empty()) prefer_own_kernel(run, loop);
  if (loop.best) write_kernel_files(paths, *problem, *loop.best, run);
  Json json = result_json(*problem, loop, run, paths);
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
