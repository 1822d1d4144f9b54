// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <utility>

#include "app/audit/problem_audits.h"
#include "app/experiment/experiment_report.h"
#include "app/experiment/experiment_runs.h"
#include "app/experiment/listed_result.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "core/text/shown_text.h"
#include "db/database.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kExperimentHelp =
    "Usage: alphakernel experiment run MANIFEST [--output DIR] [--device DEVICE] [--arch ARCH]\n"
    "       alphakernel experiment list [--json]\n\n"
    "An experiment is a JSON file: a question, the searches that answer it, and what to expect of the "
    "results\n(docs/experiments.md). `run` leaves a folder with a database, tables, the best kernels and a "
    "report.\n";

namespace fs = std::filesystem;

/// "h200" of "NVIDIA H200", "emulator" of any emulator: part of a folder's name.
std::string short_name(const app::Target& target) {
  if (target.kind != DeviceKind::cuda) return std::string(to_string(target.kind));
  std::string name;
  for (const char c : target.device->name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  constexpr std::string_view kMaker = "nvidia_";
  return name.starts_with(kMaker) ? name.substr(kMaker.size()) : name;
}

bool any_on_gpu(const std::vector<app::SearchRun>& runs) {
  return std::ranges::any_of(runs,
                             [](const app::SearchRun& run) { return run.target.kind == DeviceKind::cuda; });
}

fs::path default_folder(const app::Manifest& manifest, const std::vector<app::SearchRun>& runs) {
  const auto gpu =
      std::ranges::find(runs, DeviceKind::cuda, [](const app::SearchRun& r) { return r.target.kind; });
  const app::Target& target = (gpu == runs.end() ? runs.front() : *gpu).target;
  return fs::path(app::kResultsFolder) /
         fmt::format("{:%F}_{}_{}", fmt::gmtime(std::time(nullptr)), short_name(target), manifest.name);
}

/// The folder of an experiment that goes on: none, or one with the same manifest.
app::ResultFolder folder_to_resume(const fs::path& path, const app::Manifest& manifest) {
  const app::ResultFolder folder(path);
  std::error_code error;
  fs::create_directories(folder.kernels(), error);
  if (error) fail(ExitCode::output, "cannot make the folder {}: {}", path.string(), error.message());
  const fs::path copy = path / "manifest.json";
  if (!fs::exists(copy) && fs::exists(folder.database()))
    fail(ExitCode::output, "{} has a database without a manifest: there is nothing to resume", path.string());
  if (fs::exists(copy) && read_file(copy) != manifest.text)
    fail(ExitCode::output, "{} has results of another manifest; name another folder with --output",
         path.string());
  return folder;
}

/// The folder, empty. Of a folder that is there only the files of an earlier experiment are removed.
app::ResultFolder make_folder(const fs::path& path, bool force) {
  const app::ResultFolder folder(path);
  std::error_code error;
  if (fs::exists(path) && !fs::is_empty(path, error)) {
    if (!force)
      fail(ExitCode::output,
           "{} has results already; name another folder with --output, or give --resume or --force",
           path.string());
    if (!fs::exists(folder.path / "manifest.json"))
      fail(ExitCode::output, "{} does not contain an experiment: --force does not empty it", path.string());
    for (const char* file :
         {"experiment.db", "experiment.db-wal", "experiment.db-shm", "report.md", "report.json",
          "environment.json", "benchmark_results.csv", "leaderboard.csv", "manifest.json", "kernels"})
      fs::remove_all(path / file, error);
  }
  fs::create_directories(folder.kernels(), error);
  if (error) fail(ExitCode::output, "cannot make the folder {}: {}", path.string(), error.message());
  return folder;
}

ExitCode code_of(const app::ExperimentEnd& end, const Json& report) {
  if (end.code != ExitCode::ok || end.status != "complete") return end.code;
  const bool kept =
      app::count_expectations(report, "missed") + app::count_expectations(report, "no_value") == 0;
  return kept ? ExitCode::ok : ExitCode::expectation;
}

void print_outcome(const Json& report, const app::ResultFolder& folder) {
  for (const Json& e : report["expectations"]) {
    fmt::print("{:<9} {} ({} {})\n", e["status"].get<std::string>(), e["name"].get<std::string>(),
               e["value"].is_null() ? "-" : e["value"].dump(), e["unit"].get<std::string>());
  }
  fmt::print("{}: {}\n", report["status"].get<std::string>(), (folder.path / "report.md").string());
}

/// Writes everything but the database and the kernels, which are there already; returns the report.
Json write_reports(const app::Manifest& manifest, const app::ExperimentEnd& end,
                   const app::ResultFolder& folder, bool on_gpu, const std::string& command) {
  Json report = app::report_json(manifest, end, folder, on_gpu);
  report["exit_code"] = static_cast<int>(code_of(end, report));
  const Json environment = app::environment_json(folder, command);
  write_file_atomically(folder.path / "environment.json", environment.dump(2) + "\n");
  app::export_tables(folder);
  write_file_atomically(folder.path / "report.md", shown_text(app::report_text(report, environment)));
  write_file_atomically(folder.report(), report.dump(2) + "\n");
  // Readers leave the write-ahead log's files behind; the last writer takes them away.
  static_cast<void>(db::open_store(folder.database()));
  return report;
}

struct RunFlags {
  std::string manifest, output, cache;
  app::ExperimentFlags experiment;
  bool force = false, resume = false, json = false, unaudited = false;
};

void add_experiment_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("manifest", flags.manifest, "a manifest, or the name of a known one (experiment list)")
      ->required();
  app.add_option("--output,-o", flags.output,
                 fmt::format("result folder (default: {}/<date>_<device>_<name>)", app::kResultsFolder));
  app.add_flag("--force", flags.force, "replace the results of an earlier experiment in that folder");
  app.add_flag("--resume", flags.resume,
               "go on with an experiment that ended early in that folder: its finished runs stay")
      ->excludes("--force");
  add_integer(app, "--runs", {}, into(flags.experiment.runs),
              "run at most this many, and leave the others to --resume");
  app.add_option("--device", flags.experiment.device,
                 "where runs without their own device run: auto, cuda, cuda:N, cuda:0,2 or cuda:all (several "
                 "GPUs), emulator, none");
  app.add_option("--pool", flags.experiment.pool,
                 "run those on the devices of this file, in place of --device (docs/fleet.md)");
  app.add_option("--arch,--target", flags.experiment.arch, "what to compile for where the run does not say");
  add_integer(app, "--max-evaluations", {}, into(flags.experiment.max_evaluations),
              "at most this many candidates in every run");
  add_quantity(app, "--max-minutes", kMinutes, into(flags.experiment.max_minutes),
               "at most this much wall time for every run");
  app.add_option("--cache", flags.cache, "build cache folder");
  add_unaudited_flag(app, flags.unaudited);
  app.add_flag("--json", flags.json, "print report.json on stdout");
  app.add_flag("--quiet,-q", flags.experiment.quiet, "no progress");
}

int run_manifest(const app::Arguments& arguments) {
  CLI::App app{
      "Run an experiment: every search of its manifest, into a folder with a database, the best kernels, "
      "tables and a report.",
      "alphakernel experiment run"};
  set_style(
      app,
      "Examples:\n"
      "  alphakernel experiment run vector_add_bandwidth\n"
      "  alphakernel experiment run my_experiment.json --output results/first\n"
      "  alphakernel experiment run transpose_inplace --device emulator --max-evaluations 2\n"
      "  alphakernel experiment run benchmark_suite --output results/suite --runs 2 --resume   # two more\n\n"
      "Exits with 8 when an expectation was not met. Manifests: docs/experiments.md\n");
  RunFlags flags;
  add_experiment_flags(app, flags);
  if (!parse(app, arguments)) return 0;
  app::Config config = app::load_config();
  if (!flags.cache.empty()) config.cache = flags.cache;
  if (flags.json) flags.experiment.quiet = true;

  const app::Manifest manifest = app::read_manifest(app::find_manifest(flags.manifest));
  std::vector<app::SearchRun> runs = app::prepare_runs(manifest, flags.experiment, config);
  for (app::SearchRun& run : runs) {
    run.audited = app::require_audit(*run.problem, flags.unaudited, config, app::database_file("", config));
  }
  const fs::path path = flags.output.empty() ? default_folder(manifest, runs) : fs::path(flags.output);
  const app::ResultFolder folder =
      flags.resume ? folder_to_resume(path, manifest) : make_folder(path, flags.force);
  write_file_atomically(folder.path / "manifest.json", manifest.text);
  app::try_expectations(manifest, folder);
  const app::InterruptGuard interrupt;
  const app::ExperimentEnd end =
      app::execute_runs(manifest, runs, folder, config, interrupt.requested(), flags.experiment);
  if (end.status == "failed") print_stderr("error: {}\n", end.reason);
  const Json report = write_reports(manifest, end, folder, any_on_gpu(runs),
                                    fmt::format("alphakernel experiment run {}", fmt::join(arguments, " ")));
  flags.json ? fmt::print("{}\n", report.dump()) : print_outcome(report, folder);
  return report["exit_code"].get<int>();
}

void print_results(const Json& results, bool finished) {
  bool any = false;
  for (const Json& r : results) {
    if (r["finished"] != finished) continue;
    if (!std::exchange(any, true))
      fmt::print("\n{}\n",
                 finished ? "Finished:" : "Unfinished, without a report (running, or ended before its end):");
    fmt::print("  {}", r["folder"].get<std::string>());
    if (finished)
      fmt::print(": {}, {} met, {} missed, {} skipped", r["status"].get<std::string>(), r["met"].dump(),
                 r["missed"].dump(), r["skipped"].dump());
    fmt::print("\n");
  }
}

int list_experiments(const app::Arguments& arguments) {
  CLI::App app{"List the experiments known and the result folders found.", "alphakernel experiment list"};
  set_style(app, "Examples:\n  alphakernel experiment list\n  alphakernel experiment list --json\n");
  bool json = false;
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  const operations::Answer answer =
      call_operation("list_experiments", Json::object(), "experiment list", arguments);
  if (json) {
    print_json(answer);
    return 0;
  }
  const Json& list = answer.content;
  for (const Json& e : list["experiments"]) {
    const std::string input_error = e.value("broken", "");
    fmt::print("{:<24}{}{}\n", e["name"].get<std::string>(),
               input_error.empty() ? e["question"].get<std::string>() : "broken: " + input_error,
               e["needs_gpu"].get<bool>() ? " [some expectations need a GPU]" : "");
  }
  for (const bool finished : {true, false}) print_results(list["results"], finished);
  return 0;
}

int run_experiment(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"run", "run one", run_manifest},
                                           Verb{"list", "list them", list_experiments}};
  return run_subcommand(kSubcommands, kExperimentHelp, arguments);
}

}  // namespace

const Verb kExperimentVerb{"experiment", "run an experiment from its manifest, or list them", run_experiment,
                           kProblemVerbs};

}  // namespace ak::tools
