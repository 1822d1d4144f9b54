// SPDX-License-Identifier: Apache-2.0
#include "app/search/search_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <utility>

#include "app/audit/problem_audits.h"
#include "app/baselines/pytorch_turns.h"
#include "app/evaluate/live_view.h"
#include "app/llm/model_choice.h"
#include "app/precision/precision_search.h"
#include "app/predict/target_prediction.h"
#include "app/problem/draft_mark.h"
#include "app/search/best_lookup.h"
#include "app/search/cpu_fallback.h"
#include "app/search/earlier_answers.h"
#include "app/sets/set_report.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "core/text/quantity.h"
#include "core/time_limit.h"
#include "db/database.h"

namespace ak::app {
namespace {

agent::Budgets budgets(const SearchFlags& flags, agent::Budgets defaults) {
  if (flags.max_evaluations) defaults.max_evaluations = flags.max_evaluations;
  if (flags.max_compilations) defaults.max_compilations = flags.max_compilations;
  if (flags.patience) defaults.patience = flags.patience;
  if (flags.stop_when_done) defaults.least_gain = *flags.stop_when_done / 100;
  if (flags.max_tokens) defaults.max_tokens = flags.max_tokens;
  if (flags.max_cost_usd) defaults.max_cost_usd = flags.max_cost_usd;
  if (flags.max_minutes) defaults.max_wall = time_limit(*flags.max_minutes * 60);
  return defaults;
}

/// What the run cost in addition to time: for benchmarks, and for people with small machines.
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

/// What models used: null where there is no number.
Json model_json(const SearchRun& search, const agent::LoopResult& loop) {
  const agent::Progress& progress = loop.progress;
  return {{"calls", progress.calls},
          {"tokens", progress.tokens},
          {"max_tokens", search.budgets.max_tokens ? Json(*search.budgets.max_tokens) : Json()},
          {"cost_usd", progress.price_known ? Json(progress.cost_usd) : Json()},
          {"refused", progress.refused},
          {"end", loop.source_end}};
}

/// What needs one device, or one of this machine.
void check_pool(const SearchRun& search) {
  if (search.one_by_one && !search.target.pool.empty())
    fail(ExitCode::usage, "--deterministic runs one evaluation at a time, on one device: leave the pool out");
  if (!search.baselines.empty() && !search.target.here())
    fail(ExitCode::usage,
         "--baselines are timed on this machine, and the first device of the pool is elsewhere");
}

void set_agent_limits(const SearchFlags& flags, Config& config) {
  agent::CodingAgentSettings& agents = config.llm.agents;
  if (flags.agent_evaluations) agents.most_evaluations = *flags.agent_evaluations;
  if (flags.agent_minutes) agents.most_time = time_limit(*flags.agent_minutes * 60);
  if (flags.agent_cost_usd) agents.most_usd = *flags.agent_cost_usd;
}

/// The audit's phase begins when it waits for the first time: most problems were audited before.
runtime::OnEvaluatorWait audit_shown(LiveView* view) {
  if (view == nullptr) return {};
  return [view, entered = false](const runtime::EvaluatorActivity& activity) mutable {
    if (!std::exchange(entered, true)) view->enter(SearchPhase::audit);
    view->wait(activity);
  };
}

int exit_code(const SearchRun& search, const agent::LoopResult& loop) {
  if (loop.interrupted) return static_cast<int>(ExitCode::interrupted);
  if (search.proposer == "llm" && loop.source_never_answered) {
    print_stderr("error: no model answered, and only models propose: {}\n", loop.source_end);
    return static_cast<int>(ExitCode::environment);
  }
  return static_cast<int>(loop.best ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace

void check_search_flags(const SearchFlags& flags) {
  check_strategy(flags.strategy);
  static_cast<void>(mailbox_wait(flags.mailbox_wait));
  if (flags.max_minutes && *flags.max_minutes <= 0) fail(ExitCode::usage, "--max-minutes must be above 0");
  if (flags.prepared_copies > 1 && !flags.per_shape)
    fail(ExitCode::usage, "--prepared-copies is for sets of kernels: give --per-shape, too");
  if (flags.stop_when_done && !agent::find_strategy(flags.strategy)->learns)
    fail(ExitCode::usage,
         "--stop-when-done: --strategy {} learns from no answers and never says what is left to gain; leave "
         "one of them out",
         flags.strategy);
  for (const auto& [name, value] : {std::pair{"--max-evaluations", flags.max_evaluations},
                                    {"--max-compilations", flags.max_compilations},
                                    {"--patience", flags.patience}}) {
    if (value && *value < 1) fail(ExitCode::usage, "{} must be at least 1", name);
  }
}

std::optional<std::chrono::milliseconds> mailbox_wait(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "session") return std::chrono::milliseconds(0);
  const auto minutes = parse_quantity(text, kMinutes);
  if (!minutes) fail(ExitCode::usage, "--mailbox-wait: {}, or session", minutes.error().message);
  return time_limit(*minutes * 60);
}

FixedTunables fixed_tunables(const std::vector<std::string>& texts) {
  FixedTunables fixed;
  for (const std::string& text : texts) parse_fixed(text, fixed);
  return fixed;
}

SearchSetup set_up_search(const SearchFlags& flags, std::shared_ptr<const ProblemInstance> problem,
                          std::string command) {
  return set_up_search(flags, std::move(problem), std::move(command), load_config());
}

SearchSetup set_up_search(const SearchFlags& flags, std::shared_ptr<const ProblemInstance> problem,
                          std::string command, Config own_config) {
  require_confirmed(problem->folder);  // before models, devices and templates are looked for
  SearchSetup setup;
  setup.config = std::move(own_config);
  Config& config = setup.config;
  if (!flags.cache.empty()) config.cache = flags.cache;
  if (flags.workers > 0) config.workers = flags.workers;
  if (flags.deterministic) config.llm_parallel = 1;
  setup.database = database_file(flags.database, config);
  set_agent_limits(flags, config);
  SearchRun& search = setup.run;
  search.database = setup.database;
  search.problem = std::move(problem);
  if (!flags.output.empty()) search.paths = output_paths(flags.output);
  search.target =
      choose_search_target(flags.device.empty() && flags.pool.empty() ? config.device : flags.device,
                           flags.pool, flags.arch.empty() ? config.arch : flags.arch);
  config.llm.agents = coding_agents(config, setup.database, search.target);
  search.strategy = flags.strategy;
  search.seed = flags.seed.value_or(random_seed() >> 1);  // SQLite integers are signed
  search.budgets = budgets(flags, config.budgets);
  if (search.budgets.least_gain && !agent::find_strategy(flags.strategy)->learns && !flags.quiet)
    print_stderr("note: --strategy {} never says what is left to gain: stop_when_done ends nothing\n",
                 flags.strategy);
  ProposerChoice choice = choose_proposer(flags.proposer, flags.models, flags.record, search.budgets, config);
  search.proposer = choice.proposer;
  search.models = std::move(choice.models);
  search.model_faults = std::move(choice.faults);
  search.command = std::move(command);
  search.one_by_one = flags.deterministic;
  search.predict = config.predict && !flags.no_predict;
  search.quiet = flags.quiet || flags.json;
  search.baselines = parse_baselines(flags.baselines);
  check_pool(search);
  if (flags.per_shape)
    search.per_shape = PerShape{.prepared_copies = static_cast<std::size_t>(flags.prepared_copies),
                                .database = setup.database};
  setup.json = flags.json;
  if (!flags.target.empty())
    search.budgets.target_ns = parse_target_performance(flags.target, *search.problem, search.target.device);
  return setup;
}

void leave_out_unaskable_models(SearchRun& search) {
  for (const ModelFault& fault : search.model_faults) {
    std::erase_if(search.models, [&](const agent::LlmModel& model) { return model.name == fault.model; });
    const std::string why = fmt::format("{} cannot be asked: {}: {}; {}", fault.model,
                                        info(fault.failure.fault).name, fault.failure.message, fault.remedy);
    if (search.models.empty() && search.proposer == "llm") fail(ExitCode::environment, "{}", why);
    print_stderr("note: {}\n", why);
  }
  if (search.model_faults.empty() || !search.models.empty()) return;
  print_stderr("note: no model is left: templates and search propose alone\n");
  search.proposer = "search";
}

void limit_tokens(SearchRun& search) {
  agent::Budgets& budgets = search.budgets;
  if (search.models.empty() || budgets.max_tokens || budgets.max_cost_usd) return;
  budgets.max_tokens = kDefaultMaxTokens;
  search.default_token_limit = true;
  if (!search.quiet)
    print_stderr("note: models may use {} tokens (--max-tokens changes that)\n", kDefaultMaxTokens);
}

void add_first_points(SearchSetup& setup, const SearchFlags& flags) {
  SearchRun& search = setup.run;
  if (!search.target.device) return;
  if (flags.best.empty()) return;
  for (agent::FirstPoint& first : first_points(read_best_points(flags.best), {.arm = "best"}, search.problem,
                                               search.templates, *search.target.device, search.target.arch))
    search.first_points.push_back(std::move(first));
}

std::int64_t add_earlier_answers(SearchSetup& setup, const SearchFlags& flags,
                                 std::optional<std::int64_t> up_to) {
  SearchRun& search = setup.run;
  if (!search.target.device || flags.no_earlier) return 0;
  try {
    // What ranks: in the searches of a set, costs do.
    const bool predicted = search.target.kind == DeviceKind::emulator && search.predict && !search.per_shape;
    const TargetModel target =
        predicted ? make_target_predictor(*search.problem, search.target.arch, setup.config) : TargetModel{};
    EarlierAnswers earlier =
        earlier_answers(setup.database, *search.problem, search.templates, *search.target.device,
                        search.target.arch, target.predictor.get(), up_to);
    search.earlier = std::move(earlier.of_templates);
    const std::string text = earlier_text(search.earlier);
    if (!text.empty() && !search.quiet)
      print_stderr("note: the search begins with {} (--no-prior: without)\n", text);
    return earlier.last_evaluation;
  } catch (const Error& error) {
    print_stderr("note: the search begins without what earlier ones found: {}\n", error.what());
    return 0;
  }
}

int run_to_end(SearchSetup setup, const SearchFlags& flags,
               std::chrono::steady_clock::time_point command_start, const ShowSearch& show) {
  if (!flags.mailbox_wait.empty())
    fail(ExitCode::usage,
         "--mailbox-wait suspends a search, and only a session goes on with one: alphakernel session start");
  SearchRun& search = setup.run;
  leave_out_unaskable_models(search);
  limit_tokens(search);
  search.audited =
      require_audit(*search.problem, flags.unaudited, setup.config, setup.database, audit_shown(search.view));
  const auto store = db::open_store(setup.database);
  add_first_points(setup, flags);
  add_earlier_answers(setup, flags);
  const InterruptGuard interrupt;
  const SearchOutcome outcome = find_kernel_or_fall_back(search, setup.config, *store, interrupt.requested());
  return report_search(setup, outcome, command_start, show);
}

int report_search(const SearchSetup& setup, const SearchOutcome& outcome,
                  std::chrono::steady_clock::time_point command_start, const ShowSearch& show) {
  const SearchRun& search = setup.run;
  const agent::LoopResult& loop = outcome.loop;
  const double setup_s = std::chrono::duration<double>(outcome.loop_start - command_start).count();
  Json json = result_json(*search.problem, loop, outcome.summary, search.paths);
  json["profiles"] = outcome.profiles;
  json["baselines"] = baselines_json(outcome.baselines);
  if (search.port) json["ported"] = port_json(*search.port, outcome.summary.parts.ported);
  if (const auto& verdict = outcome.verdict)
    json["verdict"] = {{"verdict", verdict->verdict},
                       {"headroom", verdict->headroom ? Json(*verdict->headroom) : Json()},
                       {"limited_by", verdict->limited_by}};
  else
    json["verdict"] = nullptr;
  json["profile_note"] = loop.profile.note;
  if (outcome.set) json["set"] = set_json(*outcome.set);
  if (outcome.precision) json["precision"] = precision_json(*outcome.precision);
  json["model"] = model_json(search, loop);
  json["began_with"] = earlier_text(search.earlier);
  add_costs(json, setup_s);
  if (loop.best) write_file_atomically(search.paths.result, json.dump(2) + "\n");
  show(setup, outcome, json);
  return exit_code(search, loop);
}

std::string generate_line(const Arguments& arguments) {
  return fmt::format("generate_kernel {}", fmt::join(arguments, " "));
}

}  // namespace ak::app
