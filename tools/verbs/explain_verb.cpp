// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/kernel_choice.h"
#include "app/explain/ablation.h"
#include "app/explain/explanation.h"
#include "app/setup/config.h"
#include "codegen/emit/markdown.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kExplainExamples =
    "Examples:\n"
    "  alphakernel explain softmax.cu                # a file, evaluated now if it never was\n"
    "  alphakernel explain 1234 --ablate             # a variant, trying what its optimisations are worth\n"
    "  alphakernel explain 3f9c2a --markdown > k.md  # by the first digits of its key\n"
    "  alphakernel query \"SELECT place, variant, score_us FROM leaderboard LIMIT 10\"   # which variants "
    "there are\n";

int run_explain(const app::Arguments& arguments) {
  CLI::App app{
      "Say what a kernel does, which optimisations it has and what each is worth by measurement, why it is "
      "near "
      "its limit or far from it, and how it was found. From the database; nothing runs unless it was never "
      "evaluated, or a device is named.",
      "alphakernel explain"};
  set_style(app, kExplainExamples);
  std::string kernel, arch, device, database;
  bool json = false, markdown = false, ablate = false, unaudited = false;
  add_kernel(app, "kernel", kernel);
  app.add_flag(
      "--ablate", ablate,
      "evaluate it with one tunable at a time at its smallest value, and with switches of its text off");
  app.add_option("--device", device, "evaluate it again on: auto, cuda, cuda:N, emulator");
  app.add_option("--arch,--target", arch,
                 "what to compile for, where something is evaluated (default: as before)");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--markdown", markdown, "print the page as k.explanation.md has it");

  const app::Config config = app::load_config();
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> choice = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, choice ? choice->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!choice) choice = app::choose_kernel(kernel, db_file);
  const auto problem = problem_flags.instance(choice->params);
  const app::KernelSubject subject{.problem = problem, .choice = *choice, .file = kernel};
  const app::EvaluationOptions evaluation_options{
      .device = device,
      .arch = arch,
      .command = fmt::format("alphakernel explain {}", fmt::join(arguments, " ")),
      .unaudited = unaudited};
  app::StoredKernel explained = app::evaluated_kernel(subject, evaluation_options, config, db_file);
  if (ablate) {
    app::run_ablation(explained, evaluation_options, config, db_file);
    explained = app::stored_kernel(db_file, explained.stored.variant, explained.candidate, *problem,
                                   explained.stored.device.name);
  }
  const codegen::RunSummary summary = app::stored_summary(db_file, explained);
  if (json) {
    fmt::print("{}\n", app::explanation_json(explained, summary).dump());
    return 0;
  }
  const std::string page =
      codegen::emit_explanation(*explained.problem, explained.candidate, explained.stored.result, summary);
  fmt::print("{}", markdown ? page : codegen::without_markdown(page));
  return 0;
}

}  // namespace

const Verb kExplainVerb{"explain",
                        "say what a kernel does, what each optimisation is worth, and what limits it",
                        run_explain, kJudgeVerbs};

}  // namespace ak::tools
