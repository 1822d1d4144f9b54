// SPDX-License-Identifier: Apache-2.0
// What a model needs of the library, and kernels as a library of operators.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "app/kernel_library/library_plan.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "runtime/reference/python_installation.h"
#include "tools/command_line.h"
#include "tools/library/library_build_command.h"
#include "tools/library/library_check_command.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kLibraryHelp =
    "From a model to the kernels that make it faster.\n\n"
    "Usage: alphakernel library plan config.json --batch 1,16,64 --prompt 512,4096 --arch h200\n"
    "       alphakernel library build --kernel search:12 --output dist/   # a package that pip installs\n"
    "       alphakernel library check dist/                               # nightly: is it still as fast?\n\n"
    "docs/kernel_library.md says more.\n"
    "Exit codes: docs/exit_codes.md\n";

constexpr const char* kPlanHelp =
    "Examples:\n"
    "  alphakernel library plan config.json --batch 1,16,64 --prompt 512,4096 --arch h200\n"
    "  alphakernel library plan config.json --quantisation int4 --picture plan.svg --json > plan.json\n"
    "  alphakernel library plan model.py --arch h200\n\n"
    "MODEL is config.json of a model of Hugging Face, or a file with its sizes alone:\n"
    "  {\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
    "\"num_attention_heads\": 32,\n"
    "   \"num_key_value_heads\": 8, \"intermediate_size\": 14336, \"vocab_size\": 128256, \"dtype\": "
    "\"bfloat16\"}\n\n"
    "or a PyTorch file as `problem new --from-python` takes it (class Model and get_inputs()): it is traced "
    "once, and\n"
    "patterns find the library's operators in what it runs.\n\n"
    "Each step (a prompt that is read, a token that is written) is a table of its operators: what a call "
    "takes\n"
    "now, with the library and at least, its share of the step, and what of the step the library saves.\n"
    "Times are measured where the database has them for this device and shape, else predicted or estimated,\n"
    "and say so. Operators that the library does not have are rows of algorithm 'other'.\n"
    "docs/kernel_library.md says more.\n";

constexpr IntegerRange kBatches{.min = 1, .max = 1 << 16};  // sequences of a step: more than any server takes
constexpr IntegerRange kLengths{.min = 1,
                                .max = 1 << 24};  // tokens: 16 times the longest context that is sold

/// What the command line asks for, besides the model.
struct PlanFlags {
  app::LibraryPlanOrder order;
  std::string model, kind, database, best, picture;
  bool json = false;

  [[nodiscard]] bool for_python() const { return std::filesystem::path(model).extension() == ".py"; }
  [[nodiscard]] bool sizes_given() const {
    const app::StepSizes& sizes = order.sizes;
    return !sizes.batches.empty() || !sizes.prompts.empty() || !sizes.contexts.empty() ||
           !sizes.phases.empty() || !kind.empty() || !order.model.dtype.empty() ||
           !order.model.quantisation.empty() || sizes.outside || sizes.compiled;
  }
};

void declare(CLI::App& app, PlanFlags& flags) {
  app::LibraryPlanOrder& order = flags.order;
  const auto into_list = [](std::vector<std::int64_t>& list) {
    return [&list](std::int64_t number) { list.push_back(number); };
  };
  app.add_option("model", flags.model, "a JSON file with the sizes of the model, or a PyTorch file")
      ->required();
  add_integers(app, "--batch", kBatches, into_list(order.sizes.batches),
               "sequences of a step, e.g. 1,16,64 (default: 1)")
      ->delimiter(',');
  add_integers(app, "--prompt", kLengths, into_list(order.sizes.prompts),
               "tokens of a prompt, e.g. 512,4096 (default: 1024)")
      ->delimiter(',');
  add_integers(app, "--context", kLengths, into_list(order.sizes.contexts),
               "tokens in the cache when one is written (default: as --prompt)")
      ->delimiter(',');
  app.add_option("--phase", order.sizes.phases,
                 "steps of these phases alone, e.g. decode (default: all of the model's kind)")
      ->delimiter(',');
  app.add_option("--arch,--device", order.times.product, "the GPU, e.g. h200 (default: h200)");
  app.add_option("--dtype", order.model.dtype, "element type, instead of what the model says");
  app.add_option("--quantisation", order.model.quantisation,
                 "of weights, instead of what the model says: none, fp8, int8, int4, int8_weights");
  app.add_flag("--outside", order.sizes.outside,
               "operators that no module of a model calls, too: appending to caches, sampling, pooling");
  app.add_flag("--compiled", order.sizes.compiled, "what a patched model calls under torch.compile");
  app.add_option("--kind", flags.kind,
                 "a file that says how sizes become operators (default: by model_type)");
  app.add_option(
      "--db", flags.database,
      "performance database of measured times (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--best", flags.best, "file of `alphakernel best export`, besides the database");
  app.add_option("--picture", flags.picture, "write the steps as bars to this SVG file");
  add_python_flag(app);
  app.add_flag("--json", flags.json, "print JSON");
}

app::LibraryPlan planned(PlanFlags& flags, const app::Config& config) {
  app::LibraryPlanOrder& order = flags.order;
  order.times.database = app::database_file(flags.database, config);
  order.times.best = flags.best;
  if (flags.for_python()) {
    if (flags.sizes_given())
      fail(ExitCode::usage,
           "{}: a PyTorch file has its own sizes and types: --batch, --prompt, --context, --phase, "
           "--dtype, --quantisation, --kind, --outside and --compiled are for files of sizes",
           flags.model);
    return app::plan_traced_library(flags.model, order.times, runtime::find_python(app::named_python(config)),
                                    config);
  }
  if (order.sizes.batches.empty()) order.sizes.batches = {1};
  if (order.sizes.prompts.empty()) order.sizes.prompts = {1024};
  if (order.sizes.contexts.empty()) order.sizes.contexts = order.sizes.prompts;
  order.model.file = flags.model;
  order.model.kind = flags.kind;
  return app::plan_library(order, config);
}

int plan_library(const app::Arguments& arguments) {
  CLI::App app{"List the operators of a model's steps, with what the library would change.",
               "alphakernel library plan"};
  set_style(app, kPlanHelp);
  PlanFlags flags;
  declare(app, flags);
  if (!parse(app, arguments)) return 0;
  const app::LibraryPlan plan = planned(flags, app::load_config());
  if (!flags.picture.empty()) write_file_atomically(flags.picture, app::plan_picture(plan));
  fmt::print("{}", flags.json ? app::to_json(plan).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                              : app::plan_text(plan));
  return 0;
}

int run_library(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"plan", "list a model's operators with what the library would change", plan_library},
      Verb{"build", "write kernels as a package of PyTorch operators", build_library},
      Verb{"check", "measure a package's kernels again, and name what has become slower",
           check_packaged_library}};
  return run_subcommand(kSubcommands, kLibraryHelp, arguments);
}

}  // namespace

const Verb kLibraryVerb{"library", "from a model to the kernels that make it faster", run_library,
                        kFindVerbs};

}  // namespace ak::tools
