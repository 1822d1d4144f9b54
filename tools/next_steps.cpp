// SPDX-License-Identifier: Apache-2.0
#include "tools/next_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "codegen/export/export.h"
#include "codegen/problem/problem_catalog.h"
#include "tools/search_report.h"

namespace ak::tools {
namespace {

struct Step {
  std::string command, purpose;
};

/// A word of a shell's command line.
std::string shell_word(const std::string& word) {
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+=@") ==
      std::string::npos;
  if (plain && !word.empty()) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// " --db FILE" where the database is not the one that commands use by themselves.
std::string database_flag(const app::SearchSetup& setup) {
  return setup.database == app::database_file("", setup.config)
             ? ""
             : " --db " + shell_word(setup.database.string());
}

/// " --problem FOLDER" where commands do not know the problem by its name.
std::string problem_flag(const ProblemInstance& problem) {
  const bool named = std::ranges::any_of(codegen::list_problems(), [&](const codegen::CatalogEntry& known) {
    return known.name == problem.problem && known.folder == problem.folder;
  });
  return named ? "" : " --problem " + shell_word(problem.folder.string());
}

/// A folder that an export may fill.
std::string export_folder(const std::string& name) {
  return std::filesystem::exists(name) ? name + "_export/" : name + "/";
}

std::vector<Step> steps_after(const app::SearchSetup& setup, const app::SearchOutcome& outcome) {
  const std::string db = database_flag(setup);
  const app::SearchRun& run = setup.run;
  const std::string known = problem_flag(*run.problem) + db;
  if (!outcome.loop.best)
    return {{fmt::format("alphakernel query failures search={}{}", outcome.loop.search, db),
             "why candidates failed"}};
  const std::string kernel = shell_word(run.paths.kernel.string());
  if (!outcome.summary.executed)
    return {{fmt::format("alphakernel evaluate {}{}", kernel, known),
             "check and time it, on a machine that runs kernels"}};
  const std::string folder = export_folder(codegen::export_name(run.problem->definition));
  const auto& python = run.problem->python;
  const bool is_task = python && python->kind == "kernelbench";
  std::vector<Step> steps{{fmt::format("alphakernel profile {}{}", kernel, known), "what limits it"}};
  if (!python || is_task)
    steps.push_back(
        {fmt::format("alphakernel export search:{}{}{} --output {}", outcome.loop.search, known,
                     is_task ? " --format kernelbench" : "", shell_word(folder)),
         is_task ? "a module for KernelBench's evaluator" : "a folder for C++, CMake and PyTorch"});
  steps.push_back(
      {fmt::format("alphakernel report --search {}{} --output report.html", outcome.loop.search, db),
       "this search as a page"});
  return steps;
}

}  // namespace

void print_search_and_next(const app::SearchSetup& setup, const app::SearchOutcome& outcome,
                           const Json& result) {
  print_search(setup, outcome, result);
  if (setup.json) return;
  const std::vector<Step> steps = steps_after(setup, outcome);
  std::size_t widest = 0;
  for (const Step& step : steps) widest = std::max(widest, step.command.size());
  fmt::print("next:\n");
  for (const Step& step : steps) fmt::print("  {:<{}}  # {}\n", step.command, widest, step.purpose);
}

}  // namespace ak::tools
