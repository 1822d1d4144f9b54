// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/audit/problem_audits.h"
#include "app/evaluate/kernel_choice.h"
#include "app/evaluate/run_files.h"
#include "app/evaluate/single_evaluation.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"
#include "tools/counts_table.h"
#include "tools/kernel_arguments.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_evaluate(const app::Arguments& arguments) {
  CLI::App app{
      "Build, check and time one kernel. A file that generate_kernel wrote says what it was made for, as "
      "does the database; for any other, name the problem.",
      "alphakernel evaluate"};
  set_style(app,
            "Examples:\n  alphakernel evaluate softmax.cu\n  alphakernel evaluate mine.cu --algorithm "
            "softmax --dtype bf16\n  alphakernel evaluate search:12 --device emulator\n"
            "  alphakernel evaluate mine.cu --problem my_problem/ --shape N=1000\n");
  std::string word, arch, device, database;
  bool json = false, unaudited = false;
  add_kernel(app, "kernel", word);
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run it: auto, cuda, cuda:N, emulator, none");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");

  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> kernel = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel) kernel = app::choose_kernel(word, db_file);
  const app::Config config = app::load_config();
  const auto problem = problem_flags.instance(kernel->params);
  const app::Target target =
      app::choose_target(device.empty() ? config.device : device, arch.empty() ? config.arch : arch);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  const bool audited = app::require_audit(*problem, unaudited, config, db_file);
  const app::SingleEvaluation done =
      app::evaluate_once({.problem = problem,
                          .candidate = kernel->candidate,
                          .command = fmt::format("alphakernel evaluate {}", fmt::join(arguments, " ")),
                          .audited = audited},
                         target, config, db_file);
  const EvaluationResult& result = done.result;
  if (json) {
    fmt::print("{}\n", app::evaluation_json(result).dump());
  } else {
    const auto& gate = result.outcome.gate;
    fmt::print("{}: {}{}{}\n{}{}", word, to_string(result.outcome.status),
               gate ? fmt::format(" (gate {})", to_string(*gate)) : "",
               result.outcome.message.empty() ? "" : ": " + result.outcome.message,
               app::evaluation_text(*problem, result), counts_table(result));
  }
  return static_cast<int>(done.passed() ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace

const Verb kEvaluateVerb{"evaluate", "build, check and time one kernel", run_evaluate, kJudgeVerbs};

}  // namespace ak::tools
