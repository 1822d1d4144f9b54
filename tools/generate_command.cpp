// SPDX-License-Identifier: Apache-2.0
#include "tools/generate_command.h"

#include "app/evaluate/kernel_choice.h"
#include "app/evaluate/live_view.h"
#include "app/search/porting.h"
#include "app/search/starting_points.h"
#include "codegen/export/export.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "tools/number_options.h"
#include "tools/search_flags.h"

namespace ak::tools {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  generate_kernel --algorithm softmax --dtype bf16 --arch h200\n"
    "  generate_kernel --algorithm reduce_sum --shape N=1000000 --max-minutes 2 --output sum.cu\n"
    "  generate_kernel --algorithm softmax --dtype auto --max-error 1e-3\n"
    "  generate_kernel --start my_kernel.cu --problem my_problem/ --output fast.cu\n"
    "  generate_kernel --from 1234 --arch sm_120a --output ported.cu    # port a variant (docs/explain.md)\n"
    "  generate_kernel --help --algorithm softmax      # lists that algorithm's parameters\n";

/// What the search begins with; the rest of the port goes into `setup`.
std::vector<Candidate> port_first(app::PortOrigin origin, app::SearchSetup& setup) {
  app::SearchRun& run = setup.run;
  const auto written = app::known_variant(setup.database, origin.choice, origin.word);
  if (written) origin.choice = app::kernel_of_variant(setup.database, std::to_string(*written));
  run.port = app::port_kernel(origin, run.problem, run.target, setup.config, setup.database);
  for (const std::string& note : run.port->notes) print_stderr("note: {}\n", note);
  if (run.port->candidates.empty())
    print_stderr("note: nothing can be ported; the search begins with the templates\n");
  run.first_points = run.port->first_points;
  return run.port->candidates;
}

/// Kernels that a search begins with, as a command line names them.
struct FirstKernels {
  std::string start, only, from;
};

void add_first_kernel_flags(CLI::App& app, FirstKernels& first) {
  app.add_option(
      "--start", first.start,
      "your own kernel, named as for `evaluate`: seeds the search and is the baseline of the report");
  app.add_option("--template", first.only, "search only this template, e.g. softmax_online.cu");
  app.add_option(
      "--from", first.from,
      "port this kernel, named as for `evaluate`. The problem and its parameters are its own "
      "unless flags say otherwise; the search begins with it, or with its best relative that can be built");
}

}  // namespace

std::optional<app::GenerateCommand> generate_command(const app::Arguments& arguments, std::string command,
                                                     app::LiveView* view) {
  CLI::App app{
      "Find a fast, verified CUDA kernel: search a template's parameters, build, check and time every "
      "variant.",
      "generate_kernel"};
  set_style(app, kExamples);
  app::GenerateCommand generate;
  app::SearchFlags& flags = generate.flags;
  FirstKernels first;
  add_search_flags(app, flags);
  add_first_kernel_flags(app, first);
  std::optional<double> max_error;
  add_quantity(
      app, "--max-error", kErrors, into(max_error),
      "accept no kernel whose results are further than this from float64's, relative to them, on inputs "
      "that are not rounded: 1e-3. With --dtype auto or --precision auto: the fastest precision that "
      "holds it (docs/precision.md)");
  std::string inputs_like;
  app.add_option(
      "--inputs-like", inputs_like,
      "with --max-error: distributions of the problem that your inputs are like, with commas between; "
      "rounding inputs counts under these alone. none: they come in every precision as they are "
      "(default: all)");
  const std::string origin_word = peek(arguments, "--from");
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> origin;
  if (!origin_word.empty()) origin = app::choose_kernel(origin_word, db_file);
  const ProblemFlags problem_flags(app, arguments, origin ? origin->problem : "");
  if (!parse(app, arguments)) return std::nullopt;
  if (origin && !first.start.empty())
    fail(ExitCode::usage, "give --from, a kernel to port, or --start, one to beat; not both");
  if (max_error || !inputs_like.empty())
    fail(ExitCode::usage, "--max-error is for searches that `generate` runs by itself");
  if (view != nullptr) view->open(flags.quiet || flags.json);
  const auto problem = problem_flags.instance(origin ? origin->params : Params{});
  choose_output(flags, app::free_output(codegen::export_name(problem->definition) + ".cu"));
  app::check_search_flags(flags);
  generate.setup = app::set_up_search(flags, problem, std::move(command));
  generate.setup.run.view = view;
  app::SearchRun& run = generate.setup.run;
  std::vector<Candidate> own;
  if (!first.start.empty()) own.push_back(app::choose_kernel(first.start, db_file).candidate);
  if (origin) own = port_first({.choice = *origin, .word = origin_word}, generate.setup);
  run.templates =
      app::starting_points(*run.problem, run.target.arch, own, first.only, app::fixed_tunables(flags.fixed));
  run.own_kernel = !first.start.empty();
  return generate;
}

}  // namespace ak::tools
