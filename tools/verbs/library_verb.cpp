// SPDX-License-Identifier: Apache-2.0
// What a model needs of the library.
#include <fmt/format.h>

#include <array>

#include "app/kernel_library/library_plan.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kLibraryHelp =
    "From a model to the kernels that make it faster.\n\n"
    "Usage: alphakernel library plan config.json --batch 1,16,64 --prompt 512,4096 --arch h200\n\n"
    "docs/kernel_library.md says more.\n"
    "Exit codes: docs/exit_codes.md\n";

constexpr const char* kPlanHelp =
    "Examples:\n"
    "  alphakernel library plan config.json --batch 1,16,64 --prompt 512,4096 --arch h200\n"
    "  alphakernel library plan config.json --quantisation int4 --picture plan.svg --json > plan.json\n\n"
    "MODEL is config.json of a model of Hugging Face, or a file with its sizes alone:\n"
    "  {\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
    "\"num_attention_heads\": 32,\n"
    "   \"num_key_value_heads\": 8, \"intermediate_size\": 14336, \"vocab_size\": 128256, \"dtype\": "
    "\"bfloat16\"}\n\n"
    "Each step (a prompt that is read, a token that is written) is a table of its operators: what a call "
    "takes\n"
    "now, with the library and at least, its share of the step, and what of the step the library saves.\n"
    "Times are measured where the database has them for this device and shape, else predicted or estimated,\n"
    "and say so. Operators that the library does not have are rows of algorithm 'other'.\n"
    "docs/kernel_library.md says more.\n";

constexpr IntegerRange kBatches{.min = 1, .max = 1 << 16};  // sequences of a step: more than any server takes
constexpr IntegerRange kLengths{.min = 1,
                                .max = 1 << 24};  // tokens: 16 times the longest context that is sold

int plan_library(const app::Arguments& arguments) {
  CLI::App app{"List the operators of a model's steps, with what the library would change.",
               "alphakernel library plan"};
  set_style(app, kPlanHelp);
  app::LibraryPlanOrder order;
  std::string model, kind, database, best, picture;
  bool json = false;
  app.add_option("model", model, "a JSON file with the sizes of the model")->required();
  add_integers(
      app, "--batch", kBatches, [&](std::int64_t n) { order.sizes.batches.push_back(n); },
      "sequences of a step, e.g. 1,16,64 (default: 1)")
      ->delimiter(',');
  add_integers(
      app, "--prompt", kLengths, [&](std::int64_t n) { order.sizes.prompts.push_back(n); },
      "tokens of a prompt, e.g. 512,4096 (default: 1024)")
      ->delimiter(',');
  add_integers(
      app, "--context", kLengths, [&](std::int64_t n) { order.sizes.contexts.push_back(n); },
      "tokens in the cache when one is written (default: as --prompt)")
      ->delimiter(',');
  app.add_option("--arch,--device", order.times.product, "the GPU, e.g. h200 (default: h200)");
  app.add_option("--dtype", order.model.dtype, "element type, instead of what the model says");
  app.add_option("--quantisation", order.model.quantisation,
                 "of weights, instead of what the model says: none, fp8, int8, int4, int8_weights");
  app.add_option("--kind", kind, "a file that says how sizes become operators (default: by model_type)");
  app.add_option(
      "--db", database,
      "performance database of measured times (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--best", best, "file of `alphakernel best export`, besides the database");
  app.add_option("--picture", picture, "write the steps as bars to this SVG file");
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  if (order.sizes.batches.empty()) order.sizes.batches = {1};
  if (order.sizes.prompts.empty()) order.sizes.prompts = {1024};
  if (order.sizes.contexts.empty()) order.sizes.contexts = order.sizes.prompts;
  const app::Config config = app::load_config();
  order.model.file = model;
  order.model.kind = kind;
  order.times.database = app::database_file(database, config);
  order.times.best = best;
  const app::LibraryPlan plan = app::plan_library(order, config);
  if (!picture.empty()) write_file_atomically(picture, app::plan_picture(plan));
  fmt::print("{}", json ? app::to_json(plan).dump() + "\n" : app::plan_text(plan));
  return 0;
}

int run_library(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"plan", "list a model's operators with what the library would change", plan_library}};
  return run_subcommand(kSubcommands, kLibraryHelp, arguments);
}

}  // namespace

const Verb kLibraryVerb{"library", "from a model to the kernels that make it faster", run_library,
                        kFindVerbs};

}  // namespace ak::tools
