// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "agent/llm/api/provider.h"
#include "app/exchange/exchange.h"
#include "app/exchange/trajectories.h"
#include "app/problem/board_import.h"
#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/upgrade.h"
#include "runtime/reference/python_installation.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataSetExportExamples =
    "Examples:\n"
    "  alphakernel exchange export dataset/   # definitions, workloads, solutions and traces of the "
    "database\n"
    "  alphakernel exchange export dataset/ --problems tasks/    # with the problem folders of a benchmark\n"
    "  alphakernel exchange export --trajectories answers.jsonl   # what models were asked, answered and got "
    "for "
    "it\n";
constexpr const char* kDataSetImportExamples =
    "Examples:\n"
    "  alphakernel exchange import dataset/ --db new.db\n"
    "  alphakernel exchange import KernelBench/level1/ --problems problems/   # a problem folder for every "
    "task\n";
constexpr const char* kDataSetCheckExamples =
    "Examples:\n"
    "  alphakernel exchange check dataset/    # does it follow the rules of the format?\n";

Json faults_json(const std::vector<app::FileFault>& faults) {
  Json list = Json::array();
  for (const app::FileFault& fault : faults)
    list.push_back({{"file", fault.path}, {"message", fault.message}});
  return list;
}

void print_report(const app::ExchangeReport& report, const std::string& what, bool json) {
  if (json) {
    fmt::print("{}\n", Json{{"definitions", report.definitions},
                            {"workloads", report.workloads},
                            {"solutions", report.solutions},
                            {"traces", report.traces},
                            {"variants", report.variants},
                            {"notes", report.notes},
                            {"faults", faults_json(report.faults)}}
                           .dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}: {} definitions, {} workloads, {} solutions ({} of them variants), {} traces\n", what,
             report.definitions, report.workloads, report.solutions, report.variants, report.traces);
  for (const std::string& note : report.notes) fmt::print("  {}\n", note);
  for (const app::FileFault& fault : report.faults) fmt::print("  {}: {}\n", fault.path, fault.message);
}

/// Ends the program where a folder has nothing of a data set: a wrong folder is no empty one.
void require_content(const app::ExchangeReport& report, const std::string& folder) {
  if (report.definitions + report.workloads + report.solutions + report.traces != 0 || !report.faults.empty())
    return;
  if (const std::size_t tasks = app::board_files(folder).tasks.size(); tasks > 0)
    fail(ExitCode::bad_input,
         "{} has tasks of a benchmark ({}); --problems FOLDER makes problem folders of them", folder, tasks);
  fail(ExitCode::bad_input,
       "{} has nothing of a data set; expected definitions/, workloads/, solutions/ or traces/ with files of "
       "JSON",
       folder);
}

int check(const fs::path& folder, bool json) {
  app::ExchangeReport report;
  const app::ExchangeSet set = app::read_exchange(folder, report.faults);
  report.definitions = set.definitions.size();
  report.solutions = set.solutions.size();
  for (const auto& [path, lines] : set.workloads) report.workloads += lines.size();
  for (const auto& [path, lines] : set.traces) report.traces += lines.size();
  require_content(report, folder.string());
  print_report(report, folder.string(), json);
  return report.faults.empty() ? 0 : static_cast<int>(ExitCode::bad_input);
}

Json imported_json(const std::vector<app::ImportedTask>& tasks) {
  Json list = Json::array();
  for (const app::ImportedTask& task : tasks)
    list.push_back(
        {{"name", task.name},
         {"made", task.failure.empty()},
         {"failure", task.failure.empty() ? Json() : Json(task.failure)},
         {"notes", task.problem.notes},
         {"open", task.problem.open},
         {"kernel", task.problem.kernel.empty() ? Json() : Json(task.problem.kernel)},
         {"degenerate", task.problem.degenerate.empty() ? Json() : Json(task.problem.degenerate)}});
  return list;
}

/// Files that no task is made of, and why.
void print_left(const app::BoardFiles& files) {
  if (files.left.empty()) return;
  print_stderr("{} files, {} tasks; left out:\n", files.tasks.size() + files.left.size(), files.tasks.size());
  for (const app::LeftFile& file : files.left) print_stderr("  {}: {}\n", file.path, file.reason);
}

/// Makes a problem folder for every task of a benchmark's folder.
int import_tasks(const app::BoardFiles& files, const fs::path& output, const std::string& python,
                 double limit_s, bool json) {
  const std::vector<app::BoardTask>& tasks = files.tasks;
  print_left(files);
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(limit_s));
  const auto installation = runtime::find_python(python.empty() ? app::load_config().python : python);
  std::size_t ended = 0;
  const app::InterruptGuard interrupt;
  const auto done = app::import_board(tasks, output, installation, limit, interrupt.requested(),
                                      [&](const app::ImportedTask& task) {
                                        print_stderr("{} of {}: {}{}\n", ++ended, tasks.size(), task.name,
                                                     task.failure.empty() ? "" : " failed");
                                      });
  const auto failed = std::ranges::count_if(done, [](const auto& task) { return !task.failure.empty(); });
  const auto degenerate =
      std::ranges::count_if(done, [](const auto& task) { return !task.problem.degenerate.empty(); });
  if (json) {
    fmt::print("{}\n", imported_json(done).dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print(
        "made {} of {} problem folders in {}{}\n", done.size() - failed, done.size(), output.string(),
        degenerate == 0 ? "" : fmt::format("; {} of them are degenerate, which are not ranked", degenerate));
    for (const app::ImportedTask& task : done) {
      if (!task.failure.empty()) fmt::print("  {}: {}\n", task.name, task.failure);
      if (!task.problem.degenerate.empty())
        fmt::print("  {}: degenerate: {}\n", task.name, task.problem.degenerate);
    }
  }
  if (interrupt.requested()) {
    print_stderr("interrupted: {} of {} tasks have no folder\n", failed, done.size());
    return static_cast<int>(ExitCode::interrupted);
  }
  return failed == 0 ? 0 : static_cast<int>(ExitCode::bad_input);
}

struct ExchangeFlags {
  std::string folder, database, problems, python, trajectories;
  std::optional<RowId> search;
  bool json = false, all = false, force = false;
  double limit_s = static_cast<double>(app::kDescribeLimit.count());
};

/// The subcommands, of which one is required.
struct ExchangeVerbs {
  CLI::App *to, *from, *only;
};

ExchangeVerbs add_exchange_verbs(CLI::App& app, ExchangeFlags& flags) {
  const auto add = [&](const char* name, const char* summary, const char* examples,
                       bool needs_folder = true) {
    CLI::App* sub = add_subcommand(app, name, summary, examples);
    sub->add_option("folder", flags.folder, "the data set")->required(needs_folder);
    sub->add_flag("--json", flags.json, "print JSON");
    return sub;
  };
  CLI::App* const to = add("export", "Write the database as a data set.", kDataSetExportExamples, false);
  CLI::App* const from = add("import", "Read a data set into the database.", kDataSetImportExamples);
  CLI::App* const only =
      add("check", "Check a data set; exit code 3 where something breaks the rules.", kDataSetCheckExamples);
  to->add_flag("--all", flags.all, "write variants that failed, too");
  to->add_flag("--force", flags.force, "write into a folder that is not empty, or over a file");
  to->add_option("--trajectories", flags.trajectories,
                 "write questions, answers and what came of them into this file instead, a line of JSON an "
                 "answer, without keys and paths of this machine");
  add_integer(*to, "--search", kAnyNumber, into(flags.search), "with --trajectories: of this search alone");
  to->add_option("--problems", flags.problems,
                 "a problem folder of yours, or a folder of such: definitions of these become solutions that "
                 "can be called");
  for (CLI::App* sub : {to, from}) sub->add_option("--db", flags.database, "performance database");
  from->add_option("--problems", flags.problems,
                   "make problem folders there, of KernelBench, GPU MODE or FlashInfer-Bench tasks");
  from->add_option("--python", flags.python, "interpreter with PyTorch");
  add_quantity(*from, "--time-limit", kSeconds, into(flags.limit_s),
               "give up on a task after this time (default: 300s)");
  app.require_subcommand(1);
  return {.to = to, .from = from, .only = only};
}

app::BoardFiles files_of(const std::string& folder) {
  app::BoardFiles files = app::board_files(folder);
  if (!files.tasks.empty()) return files;
  print_left(files);
  fail(ExitCode::bad_input,
       "{} has no task of KernelBench (class Model, get_inputs), GPU MODE (reference.py, task.yml) or "
       "FlashInfer-Bench (definitions/**/NAME.json)",
       folder);
}

int export_set(const fs::path& database, const ExchangeFlags& flags) {
  const std::string& folder = flags.folder;
  db::require_database(database);
  if (!flags.force && fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
    fail(ExitCode::output, "{} is not empty; --force writes into it", folder);
  print_report(app::export_exchange(database, folder, flags.all, flags.problems), folder, flags.json);
  return 0;
}

int write_trajectories(const fs::path& database, const ExchangeFlags& flags, const app::Config& config) {
  const fs::path file = flags.trajectories;
  if (!flags.folder.empty() || flags.all || !flags.problems.empty())
    fail(ExitCode::usage,
         "--trajectories writes one file, and no data set: leave folder, --all and --problems out");
  db::require_database(database);
  if (!flags.force && fs::exists(file))
    fail(ExitCode::output, "{} is there; --force replaces it", file.string());
  const app::TrajectoryReport report =
      app::export_trajectories(database, file, flags.search, agent::configured_keys(config.llm));
  if (flags.json)
    fmt::print("{}\n", Json{{"answers", report.answers},
                            {"candidates", report.candidates},
                            {"searches", report.searches},
                            {"without_keys", report.keys},
                            {"without_paths", report.paths}}
                           .dump());
  else
    fmt::print(
        "{}: {} answers of {} searches, {} candidates; {} texts without what looked like a key, {} without a "
        "path of a machine\n",
        file.string(), report.answers, report.searches, report.candidates, report.keys, report.paths);
  return 0;
}

int run_exchange(const app::Arguments& arguments) {
  CLI::App app{
      "Exchange data sets with programs that know FlashInfer-Bench's files: definitions, workloads, "
      "solutions, traces. An import makes rows of definitions, of workloads, and of solutions that are CUDA "
      "with a launch plan; all else that follows the rules is kept next to the database and exported again.",
      "alphakernel exchange"};
  set_style(app, "The format, and what an import makes of it: docs/exchange.md\n");
  ExchangeFlags flags;
  const ExchangeVerbs verbs = add_exchange_verbs(app, flags);
  if (!parse(app, arguments)) return 0;
  const bool trajectories = !flags.trajectories.empty();
  if (flags.folder.empty() && !trajectories)
    fail(ExitCode::usage,
         "name the folder of the data set, such as dataset/, or give --trajectories FILE.jsonl");
  if (flags.search && !trajectories) fail(ExitCode::usage, "--search is for --trajectories FILE.jsonl");
  if (verbs.only->parsed()) return check(flags.folder, flags.json);
  if (verbs.from->parsed() && !flags.problems.empty())
    return import_tasks(files_of(flags.folder), flags.problems, flags.python, flags.limit_s, flags.json);
  const app::Config config = app::load_config();
  const fs::path file = app::database_file(flags.database, config);
  if (verbs.to->parsed())
    return trajectories ? write_trajectories(file, flags, config) : export_set(file, flags);
  const app::ExchangeReport report = app::import_exchange(flags.folder, file);
  require_content(report, flags.folder);
  print_report(report, flags.folder, flags.json);
  return report.faults.empty() ? 0 : static_cast<int>(ExitCode::bad_input);
}

}  // namespace

const Verb kExchangeVerb{"exchange", "write and read data sets in FlashInfer-Bench's layout", run_exchange,
                         kServeVerbs};

}  // namespace ak::tools
