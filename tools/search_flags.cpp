// SPDX-License-Identifier: Apache-2.0
#include "tools/search_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "agent/search/strategy.h"
#include "app/setup/option_ranges.h"
#include "core/text/print_stderr.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/former_names.h"
#include "tools/number_options.h"

namespace ak::tools {
namespace {

std::string strategy_help() {
  std::string help = "how to choose the next point:";
  for (const agent::Strategy* strategy : agent::strategies())
    help += fmt::format(" {} ({});", strategy->name, strategy->summary);
  help.pop_back();
  return help;
}

/// For what kernels are made, and where the best goes.
void add_target_flags(CLI::App& app, app::SearchFlags& flags) {
  app.add_option("--arch,--target", flags.arch,
                 "what to compile for: sm_90a, hopper, h200, native (default: native)");
  app.add_option("--device", flags.device,
                 "where to run candidates: auto, cuda, cuda:N, cuda:0,2 or cuda:all (several GPUs), emulator "
                 "(on the CPU: "
                 "checked, costs estimated), none (build and rank only)");
  app.add_option(
      "--pool", flags.pool,
      "run candidates on the devices of this file, here and on other machines, in place of --device "
      "(docs/fleet.md)");
  app.add_option(
      "--output,-o", flags.output,
      "file to write the kernel to; explanation, test, result and launcher go next to it (default: a free "
      "name made of the definition's, in this folder; of tune FILE.cu: FILE.tuned.cu)");
  app.add_option(
         "--set", flags.fixed,
         "search only points with this value of a tunable, e.g. BM=128 or BM=64,128; templates without it "
         "are left out")
      ->allow_extra_args(false);
}

/// Who proposes candidates.
void add_proposer_flags(CLI::App& app, app::SearchFlags& flags) {
  add_choice(
      app, "--proposer", flags.proposer, {"auto", "search", "llm", "hybrid"},
      "who proposes candidates: search, llm (a language model), hybrid (both), auto (default: hybrid where "
      "a model is named, else search)");
  const auto strategies = agent::strategy_names();
  add_choice(app, "--strategy", flags.strategy, {strategies.begin(), strategies.end()}, strategy_help());
  app.add_option("--model", flags.models,
                 "language model: anthropic:NAME, openai:NAME, local:URL#NAME, command:NAME, agent:codex, "
                 "agent:claude, agent:COMMAND (a coding agent), mailbox:FOLDER, replay:FILE; may be given "
                 "several times")
      ->allow_extra_args(false);
  app.add_option(
      "--mailbox-wait", flags.mailbox_wait,
      "in a session: how long a search that has nothing else to do waits for answers in a mailbox before it "
      "is suspended, such as 30m; session: not at all (default: 10m; docs/mailbox.md)");
  add_quantity(app, "--agent-minutes", kMinutes, into(flags.agent_minutes),
               "end a coding agent that has not answered a question after this much time, such as 30m "
               "(default: 30m; docs/coding_agents.md)");
  add_integer(app, "--agent-evaluations", app::kAgentEvaluations, into(flags.agent_evaluations),
              "most kernels that a coding agent may have evaluated before it answers a question (default: "
              "20)");
  add_quantity(app, "--agent-cost-usd", kDollars, into(flags.agent_cost_usd),
               "most money that a coding agent may spend on a question; --max-cost-usd needs it");
  app.add_option("--record", flags.record, "append every exchange with the model to this file");
}

/// With what a search begins, and what is drawn.
void add_start_flags(CLI::App& app, app::SearchFlags& flags) {
  app.add_flag_callback(
      "--no-prior", [&flags] { flags.no_earlier = flags.no_predict = true; },
      "begin as if nothing were known: without answers for other shapes, parameters and devices, and "
      "without predicted times");
  add_former_flag(app, "--no-transfer", "--no-prior", flags.no_earlier);
  add_former_flag(app, "--no-predict", "--no-prior", flags.no_predict);
  app.add_option("--best", flags.best,
                 "begin with points of this file, which `alphakernel best export` wrote");
  add_integer(app, "--seed", app::kSeeds, into(flags.seed),
              "seed of the search and of the inputs (default: random, stored)");
  app.add_option(
      "--baselines", flags.baselines,
      "time the best kernel in turns with these at the end, on a GPU: eager, compile, max-autotune (of "
      "PyTorch), cublaslt, cudnn (pinned behind PyTorch), with commas between (docs/timing.md)");
  app.add_flag("--deterministic", flags.deterministic,
               "one evaluation and one question at a time, and all that is drawn from the seed: on the CPU "
               "device every run of a seed is the same");
}

/// Whether the result may be several kernels.
void add_set_flags(CLI::App& app, app::SearchFlags& flags) {
  app.add_flag("--per-shape", flags.per_shape,
               "tune every timed shape alone, then learn the smallest set of kernels that is within 2 % of "
               "these, and the "
               "rule that picks one by the shape, for shapes never seen, too (docs/sets.md)");
  add_integer(app, "--prepared-copies", app::kPreparedCopies, into(flags.prepared_copies),
              "copies of prepared weights that the kernels of a set may need (default: 1)");
}

/// What it works with.
void add_place_flags(CLI::App& app, app::SearchFlags& flags) {
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--cache", flags.cache,
                 "build cache folder (default: $ALPHAKERNEL_CACHE or the user's cache folder)");
  add_integer(app, "--workers", app::kWorkers, into(flags.workers),
              "compile workers (default: one per core, at most 64)");
}

/// When it ends.
void add_budget_flags(CLI::App& app, app::SearchFlags& flags) {
  add_integer(app, "--max-evaluations", {}, into(flags.max_evaluations), "stop after this many candidates");
  add_integer(app, "--max-compilations", {}, into(flags.max_compilations),
              "stop after this many builds that were not cached");
  add_quantity(app, "--max-minutes", kMinutes, into(flags.max_minutes),
               "stop after this much wall time: 90s, 2h, 1h30m; without a unit: minutes");
  add_integer(app, "--max-tokens", app::kTokens, into(flags.max_tokens), "stop after this many model tokens");
  add_quantity(app, "--max-cost-usd", kDollars, into(flags.max_cost_usd), "stop after this much money");
  add_integer(app, "--patience", {}, into(flags.patience),
              "stop after this many evaluations in a row without a new best");
  add_quantity(app, "--stop-when-done", kPercent, into(flags.stop_when_done),
               "stop when it is 95 % sure that no point left is faster by more than this: 1%");
  app.add_option("--target-performance", flags.target,
                 "stop when reached: 60us, 500TFLOPS, 2000GB/s, 90%sol");
}

}  // namespace

void add_search_flags(CLI::App& app, app::SearchFlags& flags) {
  add_target_flags(app, flags);
  add_proposer_flags(app, flags);
  add_start_flags(app, flags);
  add_set_flags(app, flags);
  add_place_flags(app, flags);
  add_budget_flags(app, flags);
  add_unaudited_flag(app, flags.unaudited);
  app.add_flag("--json", flags.json, "print the result as one JSON object on stdout");
  app.add_flag("--quiet,-q", flags.quiet, "no progress");
}

void choose_output(app::SearchFlags& flags, app::ClaimedOutput by_default) {
  const bool named = !flags.output.empty();
  if (!named) {
    flags.output = by_default.path.string();
    flags.output_claim = std::move(by_default.claim);
  }
  if (std::filesystem::exists(flags.output))
    print_stderr("note: {} is there and will be replaced by the first kernel that is found\n", flags.output);
  else if (!named && !flags.quiet && !flags.json)
    print_stderr("note: the kernel goes to {} (--output names another file)\n", flags.output);
}

}  // namespace ak::tools
