// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
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

  std::optional<Json> request = parse_kernel_request(app, arguments, word);
  if (!request) return 0;
  add_text(*request, "device", device);
  add_text(*request, "arch", arch);
  request->update({{"unaudited", unaudited}, {"detail", "full"}});
  const operations::Answer answer = call_operation("evaluate", *request, "evaluate", arguments);
  json ? print_json(answer) : fmt::print("{}", answer.content["page"].get<std::string>());
  return exit_code_of(answer);
}

}  // namespace

const Verb kEvaluateVerb{"evaluate", "build, check and time one kernel", run_evaluate, kJudgeVerbs};

}  // namespace ak::tools
