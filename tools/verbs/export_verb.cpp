// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/export/kernel_export.h"
#include "core/error.h"
#include "tools/choice_options.h"
#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExportExamples =
    "Examples:\n"
    "  alphakernel export 1234 --output softmax/             # a variant of the database\n"
    "  alphakernel export search:12 --output softmax/       # what a search ended with\n"
    "  alphakernel export --best softmax_bf16 --device h200 --output softmax/\n"
    "  alphakernel export fast.cu --arch sm_90a --name fast_softmax --output softmax/\n"
    "  alphakernel export search:12 --problem relu/ --format kernelbench --output out/   # out/model_new.py\n"
    "\n"
    "Then: cmake -S softmax -B softmax/build && cmake --build softmax/build, or python3 "
    "softmax/torch/check.py.\n";

/// The word that names the kernel: the best of a definition, or the one among the arguments; empty for none.
std::string exported_kernel(const CLI::App& app, const app::Arguments& arguments, const fs::path& database) {
  const std::vector<std::string> words = plain_words(app, arguments);
  const std::string best = peek(arguments, "--best");
  if (best.empty()) return words.empty() ? "" : words.front();
  if (!words.empty()) fail(ExitCode::usage, "name a kernel or --best, not both");
  return app::best_variant_of(best, peek(arguments, "--device"), database);
}

/// The members of a request that name the kernel.
Json exported_request(const app::ExportChoice& choice, const std::string& word, const ProblemFlags& flags) {
  Json request = flags.request(choice.kernel.params);
  if (request.contains("shape"))
    fail(ExitCode::usage, "--shape: an export is for all shapes that its kernel takes; leave it out");
  if (choice.kernel.variant)
    request["variant"] = *choice.kernel.variant;
  else
    request["path"] = word;
  return request;
}

int run_export(const app::Arguments& arguments) {
  CLI::App app{
      "Write a kernel as a folder that is used without AlphaKernel: the kernel with its tunables fixed, a "
      "launch "
      "function for C++ on the caller's stream, a CMake project with a benchmark that checks it, PyTorch "
      "operators, and a README with what was measured. A kernel that is known to be wrong is not exported.",
      "alphakernel export"};
  set_style(app, kExportExamples);
  std::string word, best, device, arch, output, name, database, format = "folder";
  bool json = false, force = false;
  add_kernel(app, "kernel", word)->required(false);
  app.add_option("--best", best, "instead of a kernel: the fastest verified one of this definition")
      ->group("Main");
  app.add_option("--device", device,
                 "the product whose measurements are shown (with --best: part of its name)");
  app.add_option("--arch,--target", arch, "what to compile for (default: what it was evaluated for)");
  app.add_option("-o,--output", output, "the folder; created if it does not exist")->required();
  app.add_option("--name", name,
                 "of files, functions, CMake target, Python package and namespace of operators (default: the "
                 "definition's)");
  add_choice(
      app, "--format", format, {"folder", "kernelbench"},
      "kernelbench: only model_new.py with class ModelNew, for problems made from KernelBench's tasks");
  app.add_flag("--force", force, "write into a folder that is not empty");
  app.add_option("--db", database, "performance database");
  app.add_flag("--json", json, "print JSON");

  const fs::path file = named_database(arguments);
  const std::string wanted = asks_for_help(arguments) ? "" : exported_kernel(app, arguments, file);
  std::optional<app::ExportChoice> choice;
  if (!wanted.empty())
    choice = app::export_choice(wanted, peek(arguments, "--best").empty() ? peek(arguments, "--device") : "",
                                file);
  const ProblemFlags problem_flags(app, arguments, choice ? choice->kernel.problem : "");
  if (!parse(app, arguments)) return 0;
  if (!choice) fail(ExitCode::usage, "name a kernel first, or --best DEFINITION");
  Json request = exported_request(*choice, wanted, problem_flags);
  request.update({{"folder", output}, {"overwrite", force}, {"format", format}});
  if (best.empty()) add_text(request, "device", device);
  add_text(request, "arch", arch);
  add_text(request, "name", name);
  const operations::Answer answer = call_operation("export_kernel", request, "export", arguments);
  if (json)
    print_json(answer);
  else
    fmt::print("{}: {} for {}, {} file{}; {}\n", output, answer.content["problem"].get<std::string>(),
               answer.content["arch"].get<std::string>(), answer.content["files"].size(),
               answer.content["files"].size() == 1 ? "" : "s", answer.content["note"].get<std::string>());
  return 0;
}

}  // namespace

const Verb kExportVerb{"export", "write a kernel as a folder for C++, CMake and PyTorch", run_export,
                       kJudgeVerbs};

}  // namespace ak::tools
