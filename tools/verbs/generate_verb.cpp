// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.h"
#include "tools/command_line.h"
#include "tools/search_command.h"

namespace ak::tools {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  generate_kernel --algorithm softmax --dtype bf16 --arch h200 --output softmax.cu\n"
    "  generate_kernel --algorithm reduce_sum --shape N=1000000 --max-minutes 2 --output sum.cu\n"
    "  generate_kernel --start my_kernel.cu --problem my_problem/ --output fast.cu\n"
    "  generate_kernel --help --algorithm softmax      # lists that algorithm's parameters\n";

}  // namespace

int run_generate(const Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  CLI::App app{
      "Find a fast, verified CUDA kernel: search a template's parameters, build, check and time every "
      "variant.",
      "generate_kernel"};
  set_style(app, kExamples);
  SearchFlags flags;
  std::string start, only;
  add_search_flags(app, flags);
  app.add_option("--start", start, "your own kernel: seeds the search and is the baseline of the report");
  app.add_option("--template", only, "search only this template, e.g. softmax_online.cu");
  const ProblemFlags problem_flags(app, arguments);
  if (!parse(app, arguments)) return 0;
  if (flags.output.empty()) fail(ExitCode::usage, "say where to write the kernel: --output FILE.cu");
  check_search_flags(flags);
  SearchSetup setup = set_up_search(flags, problem_flags.instance(),
                                    fmt::format("generate_kernel {}", fmt::join(arguments, " ")));
  setup.run.templates =
      starting_points(*setup.run.problem, setup.run.target.arch, start, only, fixed_tunables(flags.fixed));
  setup.run.own_kernel = !start.empty();
  return run_to_end(std::move(setup), flags, command_start);
}

}  // namespace ak::tools
