// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "codegen/emit/markdown.h"
#include "core/error.h"
#include "core/outcome.h"
#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
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

  std::optional<Json> request = parse_kernel_request(app, arguments, kernel);
  if (!request) return 0;
  add_text(*request, "device", device);
  add_text(*request, "arch", arch);
  request->update({{"ablate", ablate}, {"unaudited", unaudited}, {"detail", "full"}});
  const operations::Answer answer = call_operation("explain", *request, "explain", arguments);
  const std::string page = answer.content["page"];
  if (json)
    print_json(answer);
  else
    fmt::print("{}", markdown ? page : codegen::without_markdown(page));
  // One that was only built, or that the machine failed, is not at fault.
  const auto status = parse_status(answer.content.value("status", ""));
  return static_cast<int>(status && info(*status).candidate_fault ? ExitCode::no_kernel : ExitCode::ok);
}

}  // namespace

const Verb kExplainVerb{"explain",
                        "say what a kernel does, what each optimisation is worth, and what limits it",
                        run_explain, kJudgeVerbs};

}  // namespace ak::tools
