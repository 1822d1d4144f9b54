// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/kernel_choice.h"
#include "app/evaluate/live_view.h"
#include "app/search/search_command.h"
#include "app/search/starting_points.h"
#include "codegen/export/export.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "tools/next_steps.h"
#include "tools/search_flags.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kTuneExamples =
    "Examples:\n"
    "  alphakernel tune softmax.cu                              # a file that generate_kernel wrote\n"
    "  alphakernel tune mine.cu --problem my_problem/ --strategy exhaustive\n"
    "  alphakernel tune mine.cu --algorithm gemm --dtype bf16 --shape M=4096,N=4096,K=4096 --max-minutes 10\n"
    "Points that the database knows are not measured again (docs/tuning.md).\n";

/// "softmax.tuned.cu" alongside "softmax.cu", which a run that continues replaces; of a kernel of the database, or of
/// one that is compiled in, a free name in the current folder.
app::ClaimedOutput tuned_output(const std::string& word, const ProblemInstance& problem) {
  if (word.ends_with(".cu") && !is_compiled_in(word))
    return {.path = std::filesystem::path(word).replace_extension(".tuned.cu")};
  return app::free_output(codegen::export_name(problem.definition) + ".tuned.cu");
}

int run_tune(const app::Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  CLI::App app{"Tune one kernel: search all points of its plan's tunables for a verified, fast one.",
               "alphakernel tune"};
  set_style(app, kTuneExamples);
  app::SearchFlags flags;
  std::string word;
  bool fresh = false;
  add_kernel(app, "kernel", word);
  app.add_flag("--fresh", fresh, "measure every point, also those that earlier searches measured");
  add_search_flags(app, flags);
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> kernel = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel) kernel = app::choose_kernel(word, db_file);
  app::LiveView view;
  view.open(flags.quiet || flags.json);
  const auto problem = problem_flags.instance(kernel->params);
  choose_output(flags, tuned_output(word, *problem));
  app::check_search_flags(flags);
  app::SearchSetup setup =
      app::set_up_search(flags, problem, fmt::format("alphakernel tune {}", fmt::join(arguments, " ")));
  setup.run.templates = app::file_to_tune(std::move(kernel->candidate), *setup.run.problem,
                                          setup.run.target.arch, app::fixed_tunables(flags.fixed));
  setup.run.own_kernel = true;
  setup.run.resume = !fresh;
  setup.show_leaders = true;
  setup.run.view = &view;
  return app::run_to_end(std::move(setup), flags, command_start, print_search_and_next);
}

}  // namespace

const Verb kTuneVerb{"tune", "find the fastest point of one kernel's tunables", run_tune, kFindVerbs};

}  // namespace ak::tools
