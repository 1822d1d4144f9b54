// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/predict/count_variants.h"
#include "app/predict/measured_calls.h"
#include "app/predict/time_models.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "profiler/prediction/model_file.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kModelHelp =
    "Usage: alphakernel model fit [--db FILE]...\n       alphakernel model evaluate [--db FILE]...\n"
    "       alphakernel model count [--db FILE]...\n\n"
    "The model predicts times before anything runs (docs/prediction.md).\n";

using profiler::Accuracy;
using profiler::Knowledge;
using profiler::ModelReport;
using profiler::PruningRegret;

struct Flags {
  std::vector<std::string> databases;
  std::string arch = "sm_90a", output;
  bool json = false;
};

void add_model_flags(CLI::App& app, Flags& flags) {
  app.add_option(
      "--db", flags.databases,
      "performance database with times of a GPU, plain or packed (.gz, .xz); may be repeated (default: the "
      "user's)");
  app.add_option("--arch,--target", flags.arch, "target of the measured kernels (default: sm_90a)");
  app.add_flag("--json", flags.json, "print JSON");
}

std::vector<std::filesystem::path> databases(const Flags& flags, const app::Config& config) {
  if (flags.databases.empty()) return {app::database_file("", config)};
  return {flags.databases.begin(), flags.databases.end()};
}

std::string target_name(const Flags& flags) {
  const Result<Arch> arch = parse_arch(flags.arch);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  return arch->sm();
}

app::MeasuredCalls read_calls(const Flags& flags, const app::Config& config) {
  app::MeasuredCalls found = app::measured_calls(databases(flags, config), target_name(flags));
  if (found.left_out > 0)
    print_stderr("note: {} calls are left out: their plans can no longer be resolved\n", found.left_out);
  return found;
}

std::string accuracy_row(std::string_view what, const Accuracy& accuracy) {
  return fmt::format("  {:<34}{:>6.1f} %{:>9.1f} %{:>10.3f}{:>10.3f}\n", what, 100 * accuracy.mean_error,
                     100 * accuracy.median_error, accuracy.rank_correlation,
                     accuracy.median_rank_correlation);
}

std::string regret_row(std::string_view what, const PruningRegret& regret) {
  return fmt::format("  {:<34}{:>6.2f} %{:>9.2f} %{:>8.2f} %{:>8.2f} %\n", what, 100 * regret.median,
                     100 * regret.mean, 100 * regret.p95, 100 * regret.worst);
}

std::string coverage_row(std::string_view what, const profiler::Coverage& coverage) {
  double least = 1;
  std::string of;
  for (const auto& [group, share] : coverage.by_group) {
    if (share < least) of = group;
    least = std::min(least, share);
  }
  return fmt::format("  {:<34}{:>6.1f} %{:>9.1f} % ({})\n", what, 100 * coverage.share, 100 * least, of);
}

std::string report_text(Knowledge knowledge, const ModelReport& report) {
  std::string text = fmt::format(
      "Knowledge '{}': {} calls within 10 x the best of their workload, {} spaces\n\n"
      "  error of held-out calls               mean    median      rank    median rank\n",
      to_string(knowledge), report.analytic.calls, report.analytic.spaces);
  text += accuracy_row("analytic alone", report.analytic);
  text += accuracy_row("one algorithm left out", report.new_algorithm);
  text += accuracy_row("a fifth of the variants left out", report.known_space);
  text += fmt::format("\n  inside intervals made without them     all     least\n");
  text += coverage_row("one algorithm left out", report.coverage_new_algorithm);
  text += coverage_row("a fifth of the variants left out", report.coverage_known_space);
  text += fmt::format("\n  regret of pruning the worse half    median      mean       95 %     worst\n");
  text += regret_row("one algorithm left out", report.regret_new_algorithm);
  text += regret_row("a fifth of the variants left out", report.regret_known_space);
  text += "\n  mean error by algorithm       analytic   left out   variants left out\n";
  for (const auto& [name, error] : report.analytic.error_by_algorithm)
    text += fmt::format("  {:<28}{:>8.1f} %{:>9.1f} %{:>18.1f} %\n", name, 100 * error,
                        100 * report.new_algorithm.error_by_algorithm.at(name),
                        100 * report.known_space.error_by_algorithm.at(name));
  return text + "\n";
}

/// A line of JSON for each call: what was measured, and what was predicted without it.
std::string calls_text(const std::vector<profiler::MeasuredCall>& calls, Knowledge knowledge,
                       const ModelReport& report) {
  std::string text;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const profiler::MeasuredCall& call = calls[i];
    const auto analytic = profiler::analytic_time(call.facts.limited_to(knowledge), call.device);
    Json terms = Json::object();
    for (const profiler::TimeTerm& term : analytic.terms) terms[term.name] = term.time_ns;
    text += Json{{"knowledge", to_string(knowledge)},
                 {"algorithm", call.algorithm},
                 {"space", call.space()},
                 {"variant", call.variant},
                 {"tunables", call.facts.tunables},
                 {"workload", call.workload},
                 {"measured_ns", call.measured_ns},
                 {"analytic_ns", report.analytic_ns[i]},
                 {"new_algorithm_ns", report.new_algorithm_ns[i]},
                 {"known_space_ns", report.known_space_ns[i]},
                 {"limiter", analytic.limiter()},
                 {"terms_ns", std::move(terms)}}
                .dump() +
            "\n";
  }
  return text;
}

int fit_model(const app::Arguments& arguments) {
  CLI::App app{"Fit the model that predicts times to the measurements of a database.",
               "alphakernel model fit"};
  set_style(app, "Example:\n  alphakernel model fit --db h200.db --arch sm_90a\n");
  Flags flags;
  add_model_flags(app, flags);
  app.add_option("--output", flags.output, "where to write it (default: next to the user's database)");
  if (!parse(app, arguments)) return 0;
  const app::Config config = app::load_config();
  const app::MeasuredCalls found = read_calls(flags, config);
  const std::string arch = target_name(flags);
  const profiler::FittedModels models = profiler::fit_models(found.calls, arch);
  const std::filesystem::path file =
      flags.output.empty() ? app::user_model_file(arch, config) : std::filesystem::path(flags.output);
  profiler::write_models(file, models);
  if (flags.json) {
    Json json{{"file", file.string()}, {"training", models.training}, {"accuracy", Json::object()}};
    for (const auto& [knowledge, accuracy] : models.accuracy)
      json["accuracy"][to_string(knowledge)] = accuracy;
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("wrote {}: fitted to {} calls of {} variants ({})\n", file.string(),
               models.training.at("calls").dump(), models.training.at("variants").dump(),
               models.training.at("devices").dump());
  }
  return 0;
}

int evaluate_models(const app::Arguments& arguments) {
  CLI::App app{"Say how well times are predicted that a model has not seen, and what pruning by them loses.",
               "alphakernel model evaluate"};
  set_style(app, "Example:\n  alphakernel model evaluate --db h200.db --json\n");
  Flags flags;
  std::string calls_file, calls;
  add_model_flags(app, flags);
  app.add_option("--calls", calls_file,
                 "write every call with its held-out predictions here, a line of JSON each");
  if (!parse(app, arguments)) return 0;
  const app::MeasuredCalls found = read_calls(flags, app::load_config());
  Json json = Json::object();
  for (const Knowledge knowledge : profiler::kKnowledge) {
    const auto known = profiler::calls_with(found.calls, knowledge);
    if (known.empty()) continue;
    const ModelReport report = profiler::evaluate_model(known, knowledge);
    if (!calls_file.empty()) calls += calls_text(known, knowledge, report);
    if (flags.json)
      json[to_string(knowledge)] = to_json(report);
    else
      fmt::print("{}", report_text(knowledge, report));
  }
  if (flags.json) fmt::print("{}\n", json.dump());
  if (!calls_file.empty()) write_file_atomically(calls_file, calls);
  return 0;
}

int count_model(const app::Arguments& arguments) {
  CLI::App app{
      "Count on the CPU device what the measured variants of a database do, for models that use exact "
      "counts.",
      "alphakernel model count"};
  set_style(app, "Example:\n  alphakernel model count --db h200.db --per-space 20\n");
  Flags flags;
  int per_space = 0;
  add_model_flags(app, flags);
  add_integer(app, "--per-space", {.min = 0, .max = 1'000'000}, into(per_space),
              "at most so many variants of each definition and file (default: all)");
  if (!parse(app, arguments)) return 0;
  const app::Config config = app::load_config();
  app::CountingResult all;
  for (const std::filesystem::path& file : databases(flags, config)) {
    const app::CountingResult here = app::count_variants(file, target_name(flags), per_space, config);
    all.counted += here.counted;
    all.failed += here.failed;
  }
  if (flags.json)
    fmt::print("{}\n", Json{{"counted", all.counted}, {"failed", all.failed}}.dump());
  else
    fmt::print("{} variants counted, {} failed\n", all.counted, all.failed);
  return 0;
}

int run_model(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"fit", "fit it to measurements", fit_model},
      Verb{"evaluate", "say how good it is", evaluate_models},
      Verb{"count", "count on the CPU device what measured variants do", count_model}};
  return run_subcommand(kSubcommands, kModelHelp, arguments);
}

}  // namespace

const Verb kModelVerb{"model", "fit the model that predicts times to measurements, or say how good it is",
                      run_model, kModelVerbs};

}  // namespace ak::tools
