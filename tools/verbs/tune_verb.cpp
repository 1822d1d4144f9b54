// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/kernel_choice.h"
#include "app/search/search_command.h"
#include "app/search/starting_points.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/search_flags.h"
#include "tools/search_report.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kTuneExamples =
    "Examples:\n"
    "  alphakernel tune softmax.cu                              # a file that generate_kernel wrote\n"
    "  alphakernel tune mine.cu --problem my_problem/ --strategy exhaustive\n"
    "  alphakernel tune mine.cu --algorithm gemm --dtype bf16 --shape M=4096,N=4096,K=4096 --max-minutes 10\n"
    "Points that the database knows are not measured again (docs/tuning.md).\n";

/// "softmax.tuned.cu" alongside "softmax.cu".
std::string default_output(const std::string& file) {
  return std::filesystem::path(file).replace_extension(".tuned.cu").string();
}

int run_tune(const app::Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  CLI::App app{"Tune one kernel file: search all points of its plan's tunables for a verified, fast one.",
               "alphakernel tune"};
  set_style(app, kTuneExamples);
  app::SearchFlags flags;
  std::string file;
  bool fresh = false;
  app.add_option("file", file, "the kernel, a .cu file whose launch plan has tunables (docs/candidate.md)")
      ->required();
  app.add_flag("--fresh", fresh, "measure every point, also those that earlier searches measured");
  add_search_flags(app, flags);
  const std::string path = kernel_argument(arguments);
  std::optional<app::KernelChoice> kernel;
  if (!path.empty()) kernel = app::kernel_of_file(path);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel || file != path) fail(ExitCode::usage, "expected a kernel file ending in .cu, got '{}'", file);
  if (flags.output.empty()) flags.output = default_output(path);
  app::check_search_flags(flags);
  app::SearchSetup setup = app::set_up_search(flags, problem_flags.instance(kernel->params),
                                              fmt::format("alphakernel tune {}", fmt::join(arguments, " ")));
  setup.run.templates = app::file_to_tune(std::move(kernel->candidate), *setup.run.problem,
                                          setup.run.target.arch, app::fixed_tunables(flags.fixed));
  setup.run.own_kernel = true;
  setup.run.resume = !fresh;
  setup.show_leaders = true;
  return app::run_to_end(std::move(setup), flags, command_start, print_search);
}

}  // namespace

const Verb kTuneVerb{"tune", "find the fastest point of one kernel file's tunables", run_tune};

}  // namespace ak::tools
