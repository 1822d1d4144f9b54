// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "app/simulation/space_files.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/print_stderr.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/former_names.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

void show_definition(const SpaceDefinition& definition, const std::string& file) {
  const auto start = std::chrono::steady_clock::now();
  const TunableSpace space = app::build_space(definition, file);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{}: {} parameters, {} constraints\n", definition.kernel, definition.parameters.size(),
             definition.constraints.size());
  fmt::print("{} points of {:.0f} without constraints, found in {:.4f} s\n", space.size(), space.raw_size(),
             took.count());
}

void show_results(const MeasuredSpace& space) {
  fmt::print("{} on {}: {} points, {} failed\n", space.kernel.empty() ? "a kernel" : space.kernel,
             space.device.empty() ? "a device without name" : space.device, space.points.size(),
             space.failures());
  if (const auto best = space.best_ns()) fmt::print("best {:.3f} us\n", *best / 1e3);
  for (const TuningParameter& parameter : space.parameters)
    fmt::print("  {:<28}{} values\n", parameter.name, parameter.values.size());
  for (const std::string& note : space.notes) print_stderr("note: {}\n", note);
}

Json exported(const MeasuredSpace& space, const std::string& format) {
  return format == "t4" ? to_t4(space) : to_kernel_tuner_cache(space);
}

int run_space(const app::Arguments& arguments) {
  CLI::App app{"Show a space of tunables: its definition, or what was measured in it; or export the latter.",
               "alphakernel space"};
  set_style(app,
            "Examples:\n"
            "  alphakernel space definition.json\n"
            "  alphakernel space results.json.gz --definition definition.json\n"
            "  alphakernel space alphakernel.db --search 3 --export search3.json --format kernel-tuner\n"
            "Reads T1, T4, Kernel Tuner caches, KTT results and our database: docs/search.md\n");
  std::string file, definition_file, output, format = "t4";
  std::optional<std::int64_t> search;
  app.add_option("file", file, "definition (T1), results, or our database")->required();
  add_integer(app, "--search", kAnyNumber, into(search),
              "search to show of a database (default: the latest with times)");
  add_former_number(app, "--session", "--search", into(search));
  app.add_option("--definition", definition_file, "T1 file that the results must fit");
  app.add_option("--export", output, "write the results to this file");
  add_choice(app, "--format", format, {"t4", "kernel-tuner"},
             "format of the file that --export writes (default: t4)");
  if (!parse(app, arguments)) return 0;
  require_regular_file(file);
  if (!std::filesystem::exists(file)) fail(ExitCode::bad_input, "there is no file {}", file);
  if (const auto definition = app::load_definition(file)) {
    show_definition(*definition, file);
    return 0;
  }
  const MeasuredSpace space = app::load_space(file, search);
  if (!definition_file.empty()) {
    const auto definition = app::load_definition(definition_file);
    if (!definition) fail(ExitCode::bad_input, "{} is not a definition (T1)", definition_file);
    if (const auto input_error = mismatch(space, app::build_space(*definition, definition_file)))
      fail(ExitCode::bad_input, "{}: {}", file, input_error->message);
  }
  show_results(space);
  if (!output.empty()) write_file_atomically(output, exported(space, format).dump(1) + "\n");
  return 0;
}

}  // namespace

const Verb kSpaceVerb{"space", "show a space of tunables and what was measured in it, or export that",
                      run_space, kRecordVerbs};

}  // namespace ak::tools
