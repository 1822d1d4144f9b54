// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/baselines/pytorch_turns.h"
#include "core/text/print_stderr.h"
#include "tools/kernel_arguments.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

// Two are needed for an interval; a thousand take minutes and gain nothing more.
constexpr IntegerRange kRounds{.min = 2, .max = 1000};

std::string baselines_help() {
  std::string help = "with commas between:";
  for (const app::PytorchBaseline& one : app::kPytorchBaselines)
    help += fmt::format(" {} ({}),", one.name, one.help);
  help.back() = ';';
  return help + " empty: none of PyTorch";
}

int run_baselines(const app::Arguments& arguments) {
  CLI::App app{
      "Time a kernel in turns with baselines on a GPU: PyTorch, in a process of its own, and the libraries "
      "that the "
      "problem names. It is checked and timed first. Each ratio has a 95 % interval; above 1 the kernel is "
      "faster.",
      "alphakernel baselines"};
  set_style(app,
            "Examples:\n  alphakernel baselines search:12\n"
            "  alphakernel baselines softmax.cu --baselines eager,compile\n"
            "  alphakernel baselines relu.cu --problem relu/ --python /opt/torch/bin/python3 --json\n"
            "  alphakernel baselines 1234 --baselines self      # the same kernel on both sides reads 1\n"
            "How it is measured: docs/timing.md\n");
  std::string word, arch, device, database, workload, baselines = "eager,compile,max-autotune";
  std::optional<int> rounds;
  bool json = false, unaudited = false, rehearse = false, no_libraries = false;
  add_kernel(app, "kernel", word);
  app.add_option("--baselines", baselines, baselines_help())->capture_default_str();
  app.add_option("--workload", workload, "only this shape (default: every timed one)");
  add_integer(app, "--rounds", kRounds, into(rounds),
              "with PyTorch, each in both processes and at other places in memory (default: 24)");
  app.add_flag("--no-libraries", no_libraries, "without the libraries that the problem names");
  app.add_flag("--rehearse", rehearse,
               "without a GPU: PyTorch on both sides, to see that it runs; nothing is stored");
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "which GPU: auto, cuda, cuda:N");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");
  std::optional<Json> request = parse_kernel_request(app, arguments, word);
  if (!request) return 0;
  add_text(*request, "device", device);
  add_text(*request, "arch", arch);
  add_text(*request, "workload", workload);
  if (rounds) (*request)["rounds"] = *rounds;
  request->update({{"baselines", baselines},
                   {"libraries", !no_libraries},
                   {"rehearse", rehearse},
                   {"unaudited", unaudited}});
  const operations::Answer answer = call_operation(
      "time_baselines", *request, "baselines", arguments,
      {.on_event = [](std::string_view, const Json& data) { print_stderr("{}\n", data.value("what", "")); }});
  json ? print_json(answer)
       : fmt::print("{}", answer.content.value("page", "the kernel did not pass its checks\n"));
  return exit_code_of(answer);
}

}  // namespace

const Verb kBaselinesVerb{"baselines", "time a kernel in turns with PyTorch and the vendor's libraries",
                          run_baselines, kJudgeVerbs};

}  // namespace ak::tools
