// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/kernel_choice.h"
#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// What the second kernel of --compare is called in a request.
void add_second_kernel(Json& request, const std::string& word, const app::Arguments& arguments) {
  if (word.empty()) return;
  const app::KernelChoice choice = app::choose_kernel(word, named_database(arguments));
  if (choice.variant)
    request["compare_variant"] = *choice.variant;
  else
    request["compare_path"] = word;
}

void print_profile(const Json& answer, const std::string& kernel, const std::string& other) {
  fmt::print("{}", answer["evaluation"]["page"].get<std::string>());
  if (!answer.contains("page")) {
    for (const Json& loss : answer.value("not_known", Json::array()))
      fmt::print("not profiled: {}\n", loss.get<std::string>());
    return;
  }
  fmt::print("\n{}", answer["page"].get<std::string>());
  if (answer.contains("changed_from_compare_variant"))
    fmt::print("\nFrom {} to {}\n{}", other, kernel,
               answer["changed_from_compare_variant"].get<std::string>());
}

int run_profile(const app::Arguments& arguments) {
  CLI::App app{
      "Say what limits a kernel and what could be done: hardware counters and where its warps wait, on a "
      "GPU; exact counts on the CPU device. The kernel is checked and timed first.",
      "alphakernel profile"};
  set_style(
      app,
      "Examples:\n  alphakernel profile softmax.cu\n  alphakernel profile 1234 --compare 1200\n"
      "  alphakernel profile mine.cu --algorithm gemm --shape M=4096,N=4096,K=4096 --metrics full\n"
      "  alphakernel profile mine.cu --algorithm softmax --metrics dram/bytes_read,l2/hit_rate --json\n");
  std::string kernel, other, arch, device, database, metrics = "standard", workload;
  bool json = false, unaudited = false, no_lines = false;
  add_kernel(app, "kernel", kernel);
  app.add_option("--compare", other, "a second kernel for the same problem: what changed from it");
  app.add_option("--workload", workload,
                 "which shape to profile (default: the timed one of the greatest weight)");
  app.add_option("--metrics", metrics, "quick (one pass), standard, full, or names between commas");
  app.add_flag("--no-lines", no_lines, "do not sample where on the source's lines warps wait");
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run it: auto, cuda, cuda:N, emulator");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");

  std::optional<Json> request = parse_kernel_request(app, arguments, kernel);
  if (!request) return 0;
  add_text(*request, "device", device);
  add_text(*request, "arch", arch);
  add_text(*request, "workload", workload);
  add_second_kernel(*request, other, arguments);
  request->update({{"metrics", metrics}, {"lines", !no_lines}, {"unaudited", unaudited}, {"detail", "full"}});
  const operations::Answer answer = call_operation("profile", *request, "profile", arguments);
  json ? print_json(answer) : print_profile(answer.content, kernel, other);
  return exit_code_of(answer);
}

}  // namespace

const Verb kProfileVerb{"profile", "say what limits a kernel, with hardware counters and hot lines",
                        run_profile, kJudgeVerbs};

}  // namespace ak::tools
