// SPDX-License-Identifier: Apache-2.0
// Tasks of public benchmarks: search them all, show what came of it, have the benchmark's own judge confirm it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "app/board/board_judge.h"
#include "app/board/board_results.h"
#include "app/board/board_run.h"
#include "app/board/board_tasks.h"
#include "app/setup/interrupt.h"
#include "app/setup/target.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "core/time_limit.h"
#include "serve/pages/board/board_page.h"
#include "tools/command_line.h"
#include "tools/generate_command.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBoardHelp =
    "Usage: alphakernel board run BOARD [--tasks DIR] [--model NAME] [--limit-minutes 60]\n"
    "       alphakernel board show BOARD [--json]\n"
    "       alphakernel board page BOARD --output FILE.html\n"
    "       alphakernel board confirm BOARD --judge DIR\n"
    "       alphakernel board list\n\n"
    "A board is the tasks of a public benchmark: a manifest says how each is searched, by a template that "
    "serves it\nor from its PyTorch file in a folder of yours (docs/boards.md). `run` goes on where it was "
    "ended.\n";

// A sample that takes the judge some minutes (chosen): nvcc needs most of one for a kernel.
constexpr std::int64_t kSample = 5;
constexpr IntegerRange kSamples{.min = 1, .max = 10'000};
// What a board is asked again, that some task may not have.
constexpr const char* kAllBaselines[] = {"eager", "compile"};

/// What every subcommand has.
struct BoardFlags {
  std::string board, folder;
  bool json = false;
};

void add_board(CLI::App& app, BoardFlags& flags) {
  app.add_option("board", flags.board, "a manifest, or the name of a known board (board list)")->required();
  app.add_option("--folder", flags.folder, "where the board is kept (default: boards/NAME)");
}

fs::path path_of(const BoardFlags& flags, const app::BoardManifest& manifest) {
  return flags.folder.empty() ? fs::path("boards") / manifest.name : fs::path(flags.folder);
}

/// The folder of a board that ran before, or is to run. @param begun it has to have
app::BoardFolder folder_of(const BoardFlags& flags, const app::BoardManifest& manifest, bool begun) {
  const fs::path path = path_of(flags, manifest);
  app::BoardFolder folder = app::open_board_folder(path, manifest.name);
  if (begun && folder.tasks.empty())
    fail(ExitCode::usage, "{} has no board that has run; begin it with: alphakernel board run {}",
         path.string(), manifest.name);
  return folder;
}

app::BoardManifest manifest_of(const BoardFlags& flags) {
  return app::read_board_manifest(app::find_board_manifest(flags.board));
}

/// Whether --task asks for it: where nothing is asked for, all are.
bool is_among(const std::vector<std::string>& only, const std::string& task) {
  return only.empty() || std::ranges::find(only, task) != only.end();
}

/// The baselines that were not timed in turns with the kernel on all of its shapes, with commas between.
std::string missing_baselines(const Json& task) {
  std::vector<std::string> missing;
  for (const char* name : kAllBaselines)
    if (!task["speedups"].contains(name) || !task["speedups"][name]["in_turns"].get<bool>())
      missing.emplace_back(name);
  return fmt::format("{}", fmt::join(missing, ","));
}

/// One device of those that a board runs on: "cuda:all", "cuda:1,2".
std::string first_device(const std::string& flag) {
  return flag == "cuda:all" ? "cuda" : flag.substr(0, flag.find(','));
}

/// Times a kernel in turns with baselines, on the device of this call and for the target of its search. False where it may
/// be tried again, as the device, say, was lost.
bool time_baselines(const app::BoardFolder& folder, const app::BestRun& best, const std::string& baselines,
                    const std::string& device) {
  app::Arguments arguments = app::kernel_arguments(folder, best);
  for (const std::string& flag :
       {"--baselines=" + baselines, std::string("--no-libraries"), "--db=" + folder.database.string(),
        "--arch=" + best.run.device.substr(best.run.device.rfind(' ') + 1)})
    arguments.push_back(flag);
  if (!device.empty()) arguments.push_back("--device=" + first_device(device));
  try {
    static_cast<void>(kBaselinesVerb.run(arguments));
  } catch (const Error& error) {
    print_stderr("  no baselines: {}\n", error.what());
    return error.code() != ExitCode::environment && error.code() != ExitCode::database;
  }
  return true;
}

/// A kernel without turns with PyTorch, or with some of them, where a GPU and PyTorch are there now: as its search ran
/// without them. A baseline that fails would in every call: it is tried once with a kernel, unless its task is named.
/// @param over  the time of the call is
void time_missing_baselines(app::BoardFolder& folder, const app::BoardOrder& order,
                            const std::function<bool()>& over) {
  if (folder.device.starts_with(to_string(DeviceKind::emulator))) return;
  const Json board = app::board_json(folder, "");
  for (const Json& json : board["tasks"]) {
    app::TaskState& task = *folder.find(json["task"]);
    const std::string missing = missing_baselines(json);
    if (!json.contains("search") || missing.empty() || !is_among(order.only, task.name)) continue;
    const app::BestRun best = app::best_run(folder, task, folder.device).value();
    if (order.only.empty() && task.baselines_of == app::judged_kernel(best)) continue;
    if (over()) return;
    print_stderr("  {}: baselines\n", task.name);
    if (!time_baselines(folder, best, missing, order.device)) continue;
    task.baselines_of = app::judged_kernel(best);
    app::save(folder);
  }
}

int run_tasks(const app::Arguments& arguments) {
  CLI::App app{
      "Search every task of a board that has no finished search of its present file on this device, one "
      "after another, and go on with what was interrupted.",
      "alphakernel board run"};
  set_style(app,
            "Examples:\n"
            "  alphakernel board run kernelbench_level1 --tasks KernelBench/KernelBench/level1\n"
            "  alphakernel board run kernelbench_level1 --limit-minutes 60     # goes on, for an hour\n"
            "  alphakernel board run kernelbench_level2 --model anthropic:claude-opus-5-5\n"
            "  alphakernel board run gpu_mode --device emulator --max-evaluations 2   # a try without a GPU\n"
            "Boards: docs/boards.md\n");
  BoardFlags flags;
  app::BoardOrder order;
  std::string tasks;
  bool templates_only = false;
  add_board(app, flags);
  app.add_option("--tasks", tasks, "folder with the benchmark's task files (default: that of the last run)");
  app.add_option("--task", order.only, "only this task; may be given several times")->allow_extra_args(false);
  CLI::Option* only = app.add_flag("--templates-only", templates_only,
                                   "search templates and starting kernels, and ask no model (default)");
  app.add_option("--model", order.model, "language model that writes kernels, as for generate")
      ->excludes(only);
  app.add_flag("--from-files", order.from_files,
               "search every task as its file is written, also where a template serves it");
  app.add_option("--device", order.device, "auto, cuda, cuda:N, cuda:0,2, cuda:all, emulator");
  app.add_option("--pool", order.pool, "run on the devices of this file (docs/fleet.md)");
  app.add_option("--arch,--target", order.arch, "what to compile for (default: native)");
  app.add_option("--db", order.database, "performance database (default: that of the last run)");
  add_integer(app, "--max-evaluations", {}, into(order.max_evaluations),
              "at most this many candidates for each task");
  add_quantity(app, "--max-minutes", kMinutes, into(order.max_minutes), "at most this long for each task");
  add_quantity(app, "--limit-minutes", kMinutes, into(order.limit_minutes),
               "end after this time; the same command goes on");
  add_python_flag(app);
  add_unaudited_flag(app, order.unaudited);
  if (!parse(app, arguments)) return 0;
  order.tasks_folder = tasks;
  const app::BoardManifest manifest = manifest_of(flags);
  const auto begun = std::chrono::steady_clock::now();
  const app::BoardLock lock(path_of(flags, manifest));
  app::BoardFolder folder = folder_of(flags, manifest, false);
  const auto read = [](const app::Arguments& of_search, std::string command) {
    return generate_command(of_search, std::move(command));
  };
  const int code =
      app::run_board(lock, manifest, folder, order, read,
                     {.line = [](const std::string& line) { print_stderr("{}\n", line); },
                      .show = [](const app::SearchSetup&, const app::SearchOutcome&, const Json&) {}});
  const auto over = [&] {
    return order.limit_minutes &&
           std::chrono::steady_clock::now() - begun >= time_limit(*order.limit_minutes * 60);
  };
  if (code != static_cast<int>(ExitCode::interrupted)) time_missing_baselines(folder, order, over);
  fmt::print("{}", app::board_text(app::board_json(folder, "")));
  return code;
}

int show_board(const app::Arguments& arguments) {
  CLI::App app{"Show what a board came to: a line a task, cells, fast_p.", "alphakernel board show"};
  set_style(app,
            "Examples:\n  alphakernel board show kernelbench_level1\n"
            "  alphakernel board show gpu_mode --device h200 --json\nBoards: docs/boards.md\n");
  BoardFlags flags;
  std::string device;
  add_board(app, flags);
  app.add_option("--device", device, "part of the product's name (default: the last run's)");
  app.add_flag("--json", flags.json, "print JSON");
  if (!parse(app, arguments)) return 0;
  const Json board = app::board_json(folder_of(flags, manifest_of(flags), true), device);
  fmt::print("{}", flags.json ? board.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                              : app::board_text(board));
  return 0;
}

int write_page(const app::Arguments& arguments) {
  CLI::App app{"Write a board as one HTML file.", "alphakernel board page"};
  set_style(app,
            "Examples:\n  alphakernel board page kernelbench_level1 --output level1.html\n"
            "Boards: docs/boards.md\n");
  BoardFlags flags;
  std::string device, output;
  add_board(app, flags);
  app.add_option("--device", device, "part of the product's name (default: the last run's)");
  app.add_option("--output,-o", output, "the file")->required();
  if (!parse(app, arguments)) return 0;
  write_file_atomically(
      output, pages::board_html(app::board_json(folder_of(flags, manifest_of(flags), true), device)));
  return 0;
}

/// A kernel for the judge.
struct Judged {
  std::string task;
  app::BestRun best;
};

/// So many of them, spread over all.
template <class T>
std::vector<T> sample_of(const std::vector<T>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<T> sample;
  for (std::size_t i = 0; i < count; ++i) sample.push_back(all[i * all.size() / count]);
  return sample;
}

/// The best kernels of tasks' files on a device. What is judged is the text that was searched: a file that is another one
/// by now is named, with its reason in `code`.
std::vector<Judged> kernels_to_judge(const app::BoardManifest& manifest, app::BoardFolder& folder,
                                     const std::string& device, const std::vector<std::string>& only,
                                     int& code) {
  const std::vector<app::FoundTask> found = app::found_tasks(manifest, folder, true);
  std::vector<Judged> kernels;
  for (const app::TaskState& task : folder.tasks) {
    if (task.gone || !task.for_judge || !is_among(only, task.name)) continue;
    const auto best = app::best_run(folder, task, device, true);
    if (!best) continue;
    const auto now = std::ranges::find(found, task.name, [](const auto& one) { return one.listed.name; });
    if (now != found.end() && now->missing.empty() && now->content == best->run.content) {
      kernels.push_back({.task = task.name, .best = *best});
    } else {
      print_stderr("{}: its file has changed since it was searched; board run searches it again\n",
                   task.name);
      code = static_cast<int>(ExitCode::bad_input);
    }
  }
  return kernels;
}

/// What the judge says of the best kernel of a task's file.
Json verdict_of(const app::BoardFolder& folder, const app::TaskState& task, const app::BestRun& best,
                const fs::path& judge, const std::string& python, const std::atomic<bool>& stop) {
  const fs::path out = folder.path / "judged" / task.name;
  const Json request{{"variant", best.variant},
                     {"problem", (folder.path / best.run.problem).string()},
                     {"folder", out.string()},
                     {"format", "kernelbench"},
                     {"overwrite", true}};
  Json verdict;
  try {
    static_cast<void>(
        call_operation("export_kernel", request, "export", {"--db=" + folder.database.string()}));
    const std::string gpu = best.run.device.substr(0, best.run.device.rfind(' '));
    verdict =
        app::judge_model(judge, folder.tasks_folder / task.file, out / "model_new.py", gpu, python, &stop);
  } catch (const Error& error) {
    if (error.code() == ExitCode::environment) throw;
    verdict = {{"failure", error.what()}};
  }
  verdict["of"] = app::judged_kernel(best);
  return verdict;
}

/// The judge came to a verdict of this very kernel before.
bool is_judged(const app::TaskState& task, const app::BestRun& best) {
  return task.verdict.is_object() && !task.verdict.contains("failure") &&
         task.verdict.value("of", Json()) == app::judged_kernel(best);
}

std::string verdict_text(const Json& verdict) {
  if (verdict.contains("failure")) return "no verdict: " + verdict["failure"].get<std::string>();
  if (!verdict["compiled"].get<bool>()) return "not compiled: " + verdict["note"].get<std::string>();
  std::string text =
      verdict["correct"].get<bool>() ? "right" : "wrong: " + verdict["note"].get<std::string>();
  if (verdict["time_us"].is_number() && verdict["eager_us"].is_number())
    text += fmt::format(", {:.2f} x eager by its times",
                        verdict["eager_us"].get<double>() / verdict["time_us"].get<double>());
  return text;
}

int confirm(const app::Arguments& arguments) {
  CLI::App app{
      "Have KernelBench's own evaluator judge kernels of a board: exported as class ModelNew, run in a child "
      "process. Exits with 8 where it finds one wrong.",
      "alphakernel board confirm"};
  set_style(app,
            "Examples:\n  alphakernel board confirm kernelbench_level1 --judge KernelBench/\n"
            "Boards: docs/boards.md\n");
  BoardFlags flags;
  std::string judge, device;
  std::vector<std::string> only;
  std::int64_t sample = kSample;
  add_board(app, flags);
  app.add_option("--judge", judge, "a checkout of KernelBench, with src/kernelbench/eval.py")->required();
  app.add_option("--task", only,
                 "this task, also where its kernel was judged before; may be given several times (default: a "
                 "sample)")
      ->allow_extra_args(false);
  add_integer(app, "--sample", kSamples, into(sample),
              "so many tasks, spread over all (default: 5); without --task");
  app.add_option("--device", device, "part of the product's name (default: the last run's)");
  add_python_flag(app);
  if (!parse(app, arguments)) return 0;
  app::require_judge(judge);
  const app::BoardManifest manifest = manifest_of(flags);
  static_cast<void>(folder_of(flags, manifest, true));  // no folder is made where no board has run
  const app::BoardLock lock(path_of(flags, manifest));
  app::BoardFolder folder = folder_of(flags, manifest, true);
  app::check_task_names(folder, only);
  int code = 0;
  std::vector<Judged> tasks =
      kernels_to_judge(manifest, folder, app::board_json(folder, device)["device"], only, code);
  if (tasks.empty() && code == 0)
    fail(ExitCode::usage,
         "no task of {} has a kernel that was searched from its KernelBench file{}; --from-files searches so "
         "where a template serves the task, too",
         folder.name, only.empty() ? "" : " among those");
  if (only.empty()) tasks = sample_of(tasks, static_cast<std::size_t>(sample));
  const std::string python = app::named_python(app::load_config());
  const app::InterruptGuard interrupt;
  for (const Judged& judged : tasks) {
    if (interrupt.requested()) return static_cast<int>(ExitCode::interrupted);
    app::TaskState& task = *folder.find(judged.task);
    const bool known = only.empty() && is_judged(task, judged.best);
    if (!known) {
      Json verdict = verdict_of(folder, task, judged.best, judge, python, interrupt.requested());
      if (interrupt.requested() && verdict.contains("failure"))
        return static_cast<int>(ExitCode::interrupted);
      task.verdict = std::move(verdict);
      app::save(folder);
    }
    fmt::print("{}: {}{}\n", task.name, known ? "judged before: " : "", verdict_text(task.verdict));
    if (task.verdict.contains("failure"))
      code = code == 0 ? static_cast<int>(ExitCode::environment) : code;
    else if (!task.verdict["correct"].get<bool>())
      code = static_cast<int>(ExitCode::expectation);
  }
  return code;
}

int list_boards(const app::Arguments& arguments) {
  CLI::App app{"List the boards known.", "alphakernel board list"};
  set_style(app, "Examples:\n  alphakernel board list\nBoards: docs/boards.md\n");
  if (!parse(app, arguments)) return 0;
  for (const fs::path& file : app::list_board_manifests()) {
    try {
      const app::BoardManifest manifest = app::read_board_manifest(file);
      fmt::print("{:<22}{}{}\n", manifest.name, manifest.question,
                 manifest.needs_folder() ? " [needs --tasks DIR]" : "");
    } catch (const Error& error) {
      fmt::print("{:<22}broken: {}\n", file.stem().string(), error.what());
    }
  }
  return 0;
}

int run_board_verb(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"run", "search its tasks, or go on", run_tasks}, Verb{"show", "show what it came to", show_board},
      Verb{"page", "write it as one HTML file", write_page},
      Verb{"confirm", "have the benchmark's judge confirm kernels", confirm},
      Verb{"list", "list the boards known", list_boards}};
  return run_subcommand(kSubcommands, kBoardHelp, arguments);
}

}  // namespace

const Verb kBoardVerb{"board", "search the tasks of a public benchmark, and show how fast they are",
                      run_board_verb, kProblemVerbs};

}  // namespace ak::tools
