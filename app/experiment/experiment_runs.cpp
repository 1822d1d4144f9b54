// SPDX-License-Identifier: Apache-2.0
#include "app/experiment/experiment_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "app/evaluate/figure_texts.h"
#include "app/search/starting_points.h"
#include "app/sets/kernel_search.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/time_limit.h"
#include "db/database.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

const std::string& first_said(std::initializer_list<const std::string*> texts) {
  const auto said = std::ranges::find_if(texts, [](const std::string* text) { return !text->empty(); });
  return said == texts.end() ? **texts.begin() : **said;
}

/// Looking for devices starts a process, so each is looked for once.
class Targets {
 public:
  const Target& choose(const std::string& device, const std::string& pool, const std::string& arch) {
    const std::tuple key(device, pool, arch);
    if (const auto known = targets_.find(key); known != targets_.end()) return known->second;
    return targets_.emplace(key, choose_search_target(device, pool, arch)).first->second;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, Target> targets_;
};

agent::Budgets limited(agent::Budgets budgets, const ExperimentFlags& flags) {
  if (flags.max_evaluations)
    budgets.max_evaluations = std::min(budgets.max_evaluations.value_or(INT64_MAX), *flags.max_evaluations);
  if (flags.max_minutes) {
    const std::chrono::milliseconds most = time_limit(*flags.max_minutes * 60);
    budgets.max_wall = std::min(budgets.max_wall.value_or(most), most);
  }
  return budgets;
}

std::shared_ptr<const ProblemInstance> instance_of(const ManifestRun& run) {
  const codegen::Problem problem =
      codegen::load_problem(run.problem.empty() ? codegen::find_problem(run.algorithm) : run.problem);
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : run.params) given[name] = to_string(value);
  auto instance = codegen::instantiate(problem, codegen::choose_params(problem, given));
  return run.shapes.empty() ? instance : codegen::with_shapes(*instance, run.shapes);
}

/// The generate_kernel command that searches the same.
std::string command_of(const ManifestRun& run, const SearchRun& search, const std::string& pool) {
  std::string command = run.problem.empty() ? "generate_kernel --algorithm " + run.algorithm
                                            : "generate_kernel --problem " + run.problem.string();
  for (const auto& [name, value] : run.params) command += fmt::format(" --{} {}", name, to_string(value));
  for (const std::string& shape : run.shapes) command += " --shape " + shape;
  if (!run.only.empty()) command += " --template " + run.only;
  for (const auto& [name, values] : run.fixed)
    command += fmt::format(" --set {}={}", name, fmt::join(values, ","));
  const agent::Budgets& budgets = search.budgets;
  if (budgets.max_evaluations) command += fmt::format(" --max-evaluations {}", *budgets.max_evaluations);
  if (budgets.max_compilations) command += fmt::format(" --max-compilations {}", *budgets.max_compilations);
  if (budgets.max_wall)
    command += fmt::format(" --max-minutes {:g}", static_cast<double>(budgets.max_wall->count()) / 60'000);
  if (!run.target_performance.empty()) command += " --target-performance " + run.target_performance;
  if (run.per_shape) command += fmt::format(" --per-shape --prepared-copies {}", run.prepared_copies);
  const std::string device = pool.empty() ? fmt::format("--device {}", to_string(search.target.kind))
                                          : fmt::format("--pool {}", pool);
  return command + fmt::format(" --strategy {} --seed {} --arch {} {} --output {}.cu", run.strategy, run.seed,
                               search.target.arch.sm(), device, run.name);
}

SearchRun prepare(const Manifest& manifest, const ManifestRun& run, const ExperimentFlags& flags,
                  const Config& config, Targets& targets) {
  SearchRun search;
  search.problem = instance_of(run);
  const std::string pool = run.device.empty() ? flags.pool : "";
  search.target =
      targets.choose(pool.empty() ? first_said({&run.device, &flags.device, &manifest.device, &config.device})
                                  : flags.device,
                     pool, first_said({&run.arch, &flags.arch, &manifest.arch, &config.arch}));
  search.templates = starting_points(*search.problem, search.target.arch, {}, run.only, run.fixed);
  search.strategy = run.strategy;
  search.seed = run.seed;
  search.budgets = limited(run.budgets, flags);
  if (!run.target_performance.empty()) {
    search.budgets.target_ns =
        parse_target_performance(run.target_performance, *search.problem, search.target.device);
  }
  if (run.per_shape)
    search.per_shape =
        PerShape{.prepared_copies = static_cast<std::size_t>(run.prepared_copies), .database = {}};
  search.command = command_of(run, search, pool);
  search.one_by_one = search.target.kind == DeviceKind::emulator && search.target.pool.empty();
  search.quiet = flags.quiet;
  return search;
}

void announce(const Manifest& manifest, std::size_t index, const SearchRun& run) {
  print_stderr("[{}/{}] {}: {} for {} on {}\n", index + 1, manifest.runs.size(), manifest.runs[index].name,
               run.problem->definition.name, run.target.arch.sm(),
               run.target.device ? run.target.device->name : "no device");
}

/// How many runs have a finished search; the one after them may have begun.
std::size_t finished_runs(const std::vector<SearchRun>& runs, const ResultFolder& folder) {
  const Json searches = parse_json(
      db::render(db::query(folder.database(),
                           fmt::format("SELECT command, status FROM searches WHERE id IN ({}) ORDER BY id",
                                       searches_of_runs()),
                           0, kExperimentQueryTime),
                 db::TableFormat::json));
  std::size_t finished = 0;
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const std::string command = searches[i]["command"].get<std::string>();
    if (i >= runs.size() || command != runs[i].command)
      fail(ExitCode::usage, "{} was begun with other flags: it has run `{}`{}", folder.path.string(), command,
           i < runs.size() ? fmt::format(", and now run {} is `{}`", i + 1, runs[i].command) : "");
    if (searches[i]["status"] == "finished" && finished == i) ++finished;
  }
  return finished;
}

void tell_end(const SearchOutcome& outcome) {
  const agent::Progress& progress = outcome.loop.progress;
  print_stderr("  {} tried, {} passed ({})", progress.evaluated, progress.verified, outcome.loop.stop_reason);
  if (progress.best_ns)
    print_stderr(", best {}{}", outcome.summary.emulated ? "emulated cost " : "",
                 format_ns(*progress.best_ns));
  print_stderr("\n");
}

}  // namespace

std::vector<SearchRun> prepare_runs(const Manifest& manifest, const ExperimentFlags& flags,
                                    const Config& config) {
  Targets targets;
  std::vector<SearchRun> runs;
  for (const ManifestRun& run : manifest.runs) {
    try {
      runs.push_back(prepare(manifest, run, flags, config, targets));
    } catch (const Error& error) {
      // What the manifest names is wrong there; a device or a template file that is broken is not.
      const ExitCode code = error.code() == ExitCode::usage ? ExitCode::bad_input : error.code();
      fail(code, "{}: run '{}': {}", manifest.file.string(), run.name, error.what());
    }
  }
  return runs;
}

ExperimentEnd execute_runs(const Manifest& manifest, std::vector<SearchRun> runs, const ResultFolder& folder,
                           const Config& config, const std::atomic<bool>& stop,
                           const ExperimentFlags& flags) {
  const auto store = db::open_store(folder.database());
  const std::size_t finished = finished_runs(runs, folder);
  const bool quiet = flags.quiet;
  if (!quiet && finished > 0) print_stderr("{} of {} runs are done\n", finished, runs.size());
  ExperimentEnd end;
  for (std::size_t i = finished; i < runs.size(); ++i) {
    if (flags.runs && static_cast<std::int64_t>(i - finished) == *flags.runs)
      return {.status = "interrupted",
              .reason = fmt::format("{} runs, as asked; --resume goes on", *flags.runs),
              .code = ExitCode::ok};
    if (!quiet) announce(manifest, i, runs[i]);
    runs[i].paths = output_paths(folder.kernels() / (manifest.runs[i].name + ".cu"));
    if (runs[i].per_shape) runs[i].per_shape->database = folder.database();
    try {
      const SearchOutcome outcome = find_kernel(runs[i], config, *store, stop);
      if (!quiet) tell_end(outcome);
      if (outcome.loop.interrupted)
        return {.status = "interrupted", .reason = "Ctrl-C", .code = ExitCode::interrupted};
      if (!outcome.loop.best) end.code = ExitCode::no_kernel;
    } catch (const Error& error) {
      return {.status = "failed", .reason = error.what(), .code = error.code()};
    }
  }
  return end;
}

}  // namespace ak::app
