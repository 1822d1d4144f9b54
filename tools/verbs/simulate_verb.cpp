// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "app/simulation/curve_plot.h"
#include "app/simulation/simulation.h"
#include "app/simulation/space_files.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/print_stderr.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr std::array<std::string_view, 5> kPriors{"none", "kernel", "others", "shuffled",
                                                  "reversed"};  // in the order of SimulatedPrior

struct Outputs {
  std::string csv, plot;
  bool json = false;
};

std::vector<std::size_t> checkpoints(std::size_t budget) {
  std::set<std::size_t> shown{budget};
  for (const std::size_t at : {25, 50, 100, 200, 220})
    if (at < budget) shown.insert(at);
  return {shown.begin(), shown.end()};
}

std::vector<const agent::Strategy*> strategies_named(const std::vector<std::string>& names) {
  std::vector<const agent::Strategy*> chosen;
  for (const std::string& name : names) {
    const agent::Strategy* entry = agent::find_strategy(name);
    if (entry == nullptr) fail(ExitCode::usage, "{}", agent::unknown_strategy(name));
    chosen.push_back(entry);
  }
  return chosen;
}

std::vector<app::NamedSpace> load_spaces(const std::vector<std::string>& paths) {
  std::vector<app::NamedSpace> spaces;
  for (const std::filesystem::path& file : app::space_files(paths)) {
    const MeasuredSpace measured = app::load_space(file);
    for (const std::string& note : measured.notes) print_stderr("note: {}: {}\n", file.string(), note);
    if (!measured.best_ns())
      fail(ExitCode::bad_input, "{}: every point failed; there is nothing to find", file.string());
    spaces.push_back({app::space_name(file), agent::ReplaySpace(measured)});
  }
  return spaces;
}

std::string in_seconds(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds) : "-";
}

/// "-" where a strategy never arrived, or where builds' times were not recorded.
void print_clock(const std::vector<app::SimulationRow>& rows, std::size_t workers, std::size_t width) {
  fmt::print("\nSeconds to 95 %, one build at a time and with {} compile workers and one GPU\n", workers);
  fmt::print("{:<{}}  {:<24}{:>12}{:>12}{:>8}\n", "space", width, "strategy", "serial", "parallel", "ratio");
  for (const app::SimulationRow& row : rows)
    if (row.space != "all")
      fmt::print(
          "{:<{}}  {:<24}{:>12}{:>12}{:>8}\n", row.space, width, row.strategy, in_seconds(row.serial_s),
          in_seconds(row.parallel_s),
          row.serial_s && row.parallel_s ? fmt::format("{:.1f}", *row.serial_s / *row.parallel_s) : "-");
}

void print_stopped(const std::vector<app::SimulationRow>& rows, double least_gain, std::size_t width) {
  fmt::print("\nRuns that stop when they can gain at most {:.2g} %\n", 100 * least_gain);
  fmt::print("{:<{}}  {:<24}{:>10}{:>13}{:>10}{:>13}{:>15}\n", "space", width, "strategy", "stopped",
             "evaluations", "left", "said less", "all verdicts");
  for (const app::SimulationRow& row : rows)
    fmt::print("{:<{}}  {:<24}{:>8.0f} %{:>13.0f}{:>8.2f} %{:>11.1f} %{:>13.1f} %\n", row.space, width,
               row.strategy, 100 * row.stopped->share, row.stopped->evaluations, 100 * row.stopped->left,
               100 * row.stopped->wrong, 100 * row.stopped->all_wrong);
}

void print_table(const std::vector<app::SimulationRow>& rows, const app::SimulationPlan& plan) {
  const auto shown = checkpoints(plan.budget);
  std::size_t width = 5;
  for (const app::SimulationRow& row : rows) width = std::max(width, row.space.size());
  fmt::print(
      "Mean fraction of the optimum after so many evaluations, with its 95 % interval ({} runs a space)\n",
      plan.repeats);
  fmt::print("{:<{}}  {:<24}", "space", width, "strategy");
  for (const std::size_t at : shown) fmt::print("{:>14}", at);
  fmt::print("{:>12}{:>14}{:>12}", "within 5 %", "evals to 95 %", "us per point");
  for (const app::ProposalTime& time : rows.front().proposal_times)
    fmt::print("{:>20}", fmt::format("at {} (99th %)", time.evaluations));
  fmt::print("\n");
  for (const app::SimulationRow& row : rows) {
    fmt::print("{:<{}}  {:<24}", row.space, width, row.strategy);
    for (const std::size_t at : shown)
      fmt::print("{:>14}", fmt::format("{:.3f} +-{:.3f}", row.mean[at - 1], row.half_band[at - 1]));
    fmt::print("{:>10.0f} %{:>14}{:>12.1f}", 100 * row.success,
               row.expected_evaluations ? fmt::format("{:.0f}", *row.expected_evaluations) : "never",
               row.strategy_us);
    for (const app::ProposalTime& time : row.proposal_times)
      fmt::print("{:>20}", fmt::format("{:.0f} ({:.0f})", time.mean_us, time.percentile_99_us));
    fmt::print("\n");
  }
  if (plan.compile_workers > 0) print_clock(rows, plan.compile_workers, width);
  if (plan.least_gain) print_stopped(rows, *plan.least_gain, width);
}

Json number_or_null(std::optional<double> number) { return number ? Json(*number) : Json(); }

Json as_json(const std::vector<app::SimulationRow>& rows, const app::SimulationPlan& plan) {
  Json list = Json::array();
  for (const app::SimulationRow& row : rows) {
    Json fractions = Json::object(), bands = Json::object(), times = Json::object();
    for (const app::ProposalTime& time : row.proposal_times)
      times[std::to_string(time.evaluations)] = {{"mean_us", time.mean_us},
                                                 {"percentile_99_us", time.percentile_99_us}};
    for (const std::size_t at : checkpoints(plan.budget)) {
      fractions[std::to_string(at)] = row.mean[at - 1];
      bands[std::to_string(at)] = row.half_band[at - 1];
    }
    list.push_back({{"space", row.space},
                    {"strategy", row.strategy},
                    {"mean_fraction", fractions},
                    {"half_band_95", bands},
                    {"success_share", row.success},
                    {"expected_evaluations", number_or_null(row.expected_evaluations)},
                    {"serial_s", number_or_null(row.serial_s)},
                    {"parallel_s", number_or_null(row.parallel_s)},
                    {"strategy_us", row.strategy_us},
                    {"proposal_times", times}});
    if (row.stopped)
      list.back()["stopped"] = {{"share", row.stopped->share},
                                {"evaluations", row.stopped->evaluations},
                                {"left", row.stopped->left},
                                {"wrong", row.stopped->wrong},
                                {"all_wrong", row.stopped->all_wrong},
                                {"all_too_sure", row.stopped->all_too_sure},
                                {"all_expected", row.stopped->expected},
                                {"all_left", row.stopped->all_left}};
  }
  return {{"repeats", plan.repeats},
          {"budget", plan.budget},
          {"seed", plan.seed},
          {"prior", kPriors[static_cast<std::size_t>(plan.prior)]},
          {"compile_workers", plan.compile_workers},
          {"devices", plan.devices},
          {"least_gain", number_or_null(plan.least_gain)},
          {"target_fraction", app::kTargetFraction},
          {"rows", std::move(list)}};
}

std::string as_csv(const std::vector<app::SimulationRow>& rows) {
  std::string csv = "space,strategy,evaluations,mean_fraction,half_band_95\r\n";
  for (const app::SimulationRow& row : rows)
    for (std::size_t i = 0; i < row.mean.size(); ++i)
      csv += fmt::format("\"{}\",{},{},{:.6f},{:.6f}\r\n", row.space, row.strategy, i + 1, row.mean[i],
                         row.half_band[i]);
  return csv;
}

/// The curves over all spaces, or over the only one.
std::string plot_of(const std::vector<app::SimulationRow>& rows, std::size_t spaces,
                    const app::SimulationPlan& plan) {
  std::vector<app::Curve> curves;
  for (const app::SimulationRow& row : rows)
    if (spaces == 1 || row.space == "all") curves.push_back({row.strategy, row.mean, row.half_band});
  const std::string over = spaces == 1 ? rows.front().space : fmt::format("{} spaces", spaces);
  return app::draw_curves(fmt::format("Search over {}, {} runs each, seed {}", over, plan.repeats, plan.seed),
                          "evaluations (count)", "best found, fraction of the optimum (ratio)", curves);
}

void write_simulation(const std::vector<app::SimulationRow>& rows, std::size_t spaces,
                      const app::SimulationPlan& plan, const Outputs& outputs) {
  if (!outputs.csv.empty()) write_file_atomically(outputs.csv, as_csv(rows));
  if (!outputs.plot.empty()) write_file_atomically(outputs.plot, plot_of(rows, spaces, plan));
  outputs.json ? fmt::print("{}\n", as_json(rows, plan).dump(2)) : print_table(rows, plan);
}

/// A flag that strategies which learn from no answers do not see: said of some, and a mistake where there are no others.
void require_learning(const app::SimulationPlan& plan, std::string_view flag) {
  std::vector<std::string_view> blind;
  for (const agent::Strategy* strategy : plan.strategies)
    if (!strategy->learns) blind.push_back(strategy->name);
  if (blind.empty()) return;
  const std::string text = fmt::format("{} changes nothing for strategies that learn from no answers: {}",
                                       flag, fmt::join(blind, ", "));
  if (blind.size() == plan.strategies.size())
    fail(ExitCode::usage, "{}; choose another with --strategy, such as portfolio", text);
  print_stderr("note: {}\n", text);
}

/// What --prior is to take has to be there.
void check_prior(const std::vector<app::NamedSpace>& spaces, const app::SimulationPlan& plan) {
  if (plan.prior == app::SimulatedPrior::none) return;
  require_learning(plan, "--prior");
  const auto without = app::spaces_without_prior(spaces, plan.prior);
  if (without.empty()) return;
  const std::string text = fmt::format(
      "--prior {}: runs begin with what other spaces {} say, and none such is given beside {}",
      kPriors[static_cast<std::size_t>(plan.prior)],
      plan.prior == app::SimulatedPrior::others ? "with other tunables" : "with the same tunables",
      fmt::join(without, ", "));
  if (without.size() == spaces.size()) fail(ExitCode::usage, "{}", text);
  print_stderr("note: {}\n", text);
}

int run_simulate(const app::Arguments& arguments) {
  CLI::App app{"Compare search strategies over spaces in which every point was measured before.",
               "alphakernel simulate"};
  set_style(app,
            "Examples:\n"
            "  alphakernel simulate results.json.gz --strategy random --repeats 100 --seed 1\n"
            "  alphakernel simulate folder --strategy random,exhaustive --picture curves.svg\n"
            "Formats and what the columns mean: docs/search.md\n");
  app::SimulationPlan plan;
  Outputs outputs;
  std::vector<std::string> paths, names{"random"};
  app.add_option("space", paths, "results, a database, or folders of results")->required();
  app.add_option("--strategy", names, "strategies, separated by commas (default random)")->delimiter(',');
  add_integer(app, "--repeats", {.max = 100'000}, into(plan.repeats),
              "runs of each strategy on each space (default 100)");
  add_integer(app, "--seed", kAnyNumber, into(plan.seed), "seed of all runs (default 1)");
  add_integer(app, "--budget", {.max = 100'000}, into(plan.budget), "evaluations of each run (default 220)");
  std::string prior = "none";
  add_choice(
      app, "--prior", prior, {kPriors.begin(), kPriors.end()},
      "what runs know beforehand of the other spaces, the answers of one search of each: of spaces with the "
      "same tunables (kernel), with others (others), or of the same with misleading times (shuffled, "
      "reversed)");
  add_integer(app, "--compile-workers", {.min = 0, .max = 1000}, into(plan.compile_workers),
              "also replay by the clock, with so many builds at a time and one GPU");
  add_integer(app, "--devices", {.max = 1000}, into(plan.devices),
              "evaluate so many points at a time (default 1)");
  std::optional<double> done;
  add_quantity(app, "--stop-when-done", kPercent, into(done),
               "report runs that stop when they can gain no more than this, and what they lose: 1%");
  app.add_flag("--json", outputs.json, "print JSON");
  app.add_option("--csv", outputs.csv, "write the curves to this file");
  app.add_option("--picture", outputs.plot, "draw the curves into this SVG file");
  if (!parse(app, arguments)) return 0;
  plan.strategies = strategies_named(names);
  if (done) plan.least_gain = *done / 100;
  plan.prior =
      static_cast<app::SimulatedPrior>(std::ranges::find(kPriors, std::string_view(prior)) - kPriors.begin());
  for (const std::string& file : {outputs.csv, outputs.plot})
    if (!file.empty()) require_writable(file);
  if (plan.least_gain) require_learning(plan, "--stop-when-done");
  const std::vector<app::NamedSpace> spaces = load_spaces(paths);
  check_prior(spaces, plan);
  write_simulation(app::simulate(spaces, plan), spaces.size(), plan, outputs);
  return 0;
}

}  // namespace

const Verb kSimulateVerb{"simulate", "compare search strategies over spaces measured before", run_simulate,
                         kModelVerbs};

}  // namespace ak::tools
