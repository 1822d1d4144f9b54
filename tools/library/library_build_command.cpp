// SPDX-License-Identifier: Apache-2.0
#include "tools/library/library_build_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/kernel_library/package_build.h"
#include "app/kernel_library/package_compile.h"
#include "app/setup/config.h"
#include "codegen/export/export_name.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "tools/command_line.h"
#include "tools/library/tuning_session.h"
#include "tools/number_options.h"

namespace ak::tools {
namespace {

constexpr const char* kHelp =
    "Examples:\n"
    "  alphakernel library build --kernel search:12 --kernel search:13 --output dist/\n"
    "  alphakernel library build --kernel mlp_down=gemm.cu --kernel norm=1234 --arch sm_90a --output dist/\n"
    "  alphakernel library build --plan plan.json --device h200 --name my_ops --output dist/\n"
    "  pip install dist/          # offline; or put dist/ on PYTHONPATH\n"
    "\n"
    "Then in Python:\n"
    "  import my_ops\n"
    "  y = my_ops.mlp_down(x, w)              # or torch.ops.my_ops.mlp_down(x, w); MY_OPS_LOG=1 shows who "
    "serves it\n"
    "\n"
    "A plan is what `alphakernel library plan --json` writes: of every operator the best verified kernel or "
    "set\n"
    "is taken. For those that have none a manifest of a session is written, which tunes them.\n"
    "docs/kernel_library.md says more.\n";

struct Flags {
  std::vector<std::string> kernels, archs, problems;
  std::string plan, output, name = "alphakernel_ops", version = "1.0", device, database, compiler;
  int tune_minutes = 0;
  bool force = false, json = false;
};

/// "mlp_down=search:12", "search:12".
app::PackageEntry entry_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {.name = "", .kernel = word};
  return {.name = word.substr(0, equals), .kernel = word.substr(equals + 1)};
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) words.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--kernel", flags.kernels,
                 "[NAME=]KERNEL: an operator, called NAME (default: the definition's name): a .cu file, a "
                 "k.result.json, a variant's number, or search:NUMBER; may be repeated")
      ->group("Main");
  app.add_option("--plan", flags.plan, "operators of a plan: `alphakernel library plan --json` writes it")
      ->group("Main");
  app.add_option("-o,--output", flags.output, "the folder that pip installs; created if it does not exist")
      ->required()
      ->group("Main");
  app.add_option(
      "--name", flags.name,
      "of the package, its namespace of operators, and its CMake target (default: alphakernel_ops)");
  app.add_option("--package-version", flags.version, "of the package (default: 1.0)");
  app.add_option(
      "--arch,--target", flags.archs,
      "what to build machine code for, e.g. sm_90a,sm_100a (default: what each kernel was evaluated "
      "for)");
  app.add_option("--problem", flags.problems,
                 "folder of a problem that is not shipped, for its kernels; may be repeated");
  app.add_option("--device", flags.device,
                 "the product whose measurements decide with --plan; part of its name");
  add_integer(app, "--tune", {.min = 1, .max = 100'000}, into(flags.tune_minutes),
              "search for operators of the plan that have no kernel, so many minutes shared "
              "out among them; each needs about a minute more, to be checked");
  app.add_option("--compiler", flags.compiler, "C++ compiler of the launcher (default: $CXX, else c++)");
  app.add_flag("--force", flags.force,
               "write into a folder that is not empty, in place of the packages there");
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_flag("--json", flags.json, "print JSON");
}

app::PackageOrder order_of(const Flags& flags, const app::Config& config) {
  if (flags.kernels.empty() && flags.plan.empty())
    fail(ExitCode::usage, "name the operators: --kernel KERNEL, or --plan FILE");
  if (const std::string why = codegen::name_objection(flags.name); !why.empty())
    fail(ExitCode::usage, "--name '{}': {}", flags.name, why);
  if (const std::string why = codegen::version_objection(flags.version); !why.empty())
    fail(ExitCode::usage, "--package-version '{}': {}", sanitize(flags.version, 60), why);
  app::PackageOrder order{.name = flags.name,
                          .version = flags.version,
                          .entries = {},
                          .problems = {flags.problems.begin(), flags.problems.end()},
                          .archs = {},
                          .device = flags.device,
                          .database = app::database_file(flags.database, config),
                          .compiler = flags.compiler};
  for (const std::string& word : flags.kernels) order.entries.push_back(entry_of(word));
  if (!flags.plan.empty())
    for (app::PackageEntry& entry : app::package_plan(flags.plan)) order.entries.push_back(std::move(entry));
  for (const std::string& list : flags.archs)
    for (const std::string& name : split(list)) {
      const Result<Arch> arch = parse_arch(name);
      if (!arch) fail(ExitCode::usage, "--arch: {}", arch.error().message);
      order.archs.push_back(*arch);
    }
  return order;
}

/// Gives every entry its kernel. What has none is named, and tuned where --tune asks for that.
void find_kernels(const Flags& flags, app::PackageOrder& order) {
  std::vector<app::PackageEntry> missing = app::without_kernel(order);
  if (missing.empty()) return;
  constexpr int kMinutes = 60;  // chosen: an hour finds most of what templates have
  const std::string manifest =
      write_tuning_manifest(flags.output, {.entries = missing,
                                           .arch = flags.device,
                                           .device = {},
                                           .minutes = flags.tune_minutes > 0 ? flags.tune_minutes : kMinutes,
                                           .problems = order.problems});
  const std::string where = flags.device.empty() ? "" : fmt::format(" for {}", flags.device);
  fmt::print(stderr, "no verified kernel{} is in {} of:\n{}\n", where, order.database.string(),
             entries_text(missing));
  if (flags.tune_minutes == 0) {
    fmt::print(stderr,
               "{} has a session that tunes them (--tune MINUTES runs it); then build again:\n"
               "  alphakernel session start {} --foreground\n",
               manifest, manifest);
    return;
  }
  run_tuning_session(manifest, order.database);
  missing = app::without_kernel(order);
  if (!missing.empty()) fmt::print(stderr, "still without a kernel:\n{}\n", entries_text(missing));
}

/// pip takes a word without a slash for the name of a package of its index.
std::string pip_word(const std::string& folder) {
  return folder.find('/') == std::string::npos ? "./" + folder : folder;
}

}  // namespace

int build_library(const app::Arguments& arguments) {
  CLI::App app{
      "Write verified kernels as a Python package of PyTorch operators that needs neither AlphaKernel nor a "
      "compiler where it is installed, with a header and a CMake target for C++.",
      "alphakernel library build"};
  set_style(app, kHelp);
  Flags flags;
  add_flags(app, flags);
  if (!parse(app, arguments)) return 0;
  const app::Config config = app::load_config();
  app::PackageOrder order = order_of(flags, config);
  app::PackageFolder folder(flags.output, flags.force);
  app::require_compiler(flags.compiler);
  find_kernels(flags, order);
  const auto progress = [&](const std::string& line) {
    if (!flags.json) fmt::print(stderr, "{}\n", line);
  };
  const app::BuiltPackage built = app::build_package(order, folder, config, progress);
  if (flags.json) {
    fmt::print("{}\n", built.description.dump());
    return 0;
  }
  for (const std::string& note : built.notes) fmt::print("note: {}\n", note);
  fmt::print(
      "{}: {} operator{}; pip install {} puts the package {} there, and README.md says how it is used\n",
      flags.output, built.description.at("operators").size(),
      built.description.at("operators").size() == 1 ? "" : "s", pip_word(flags.output), flags.name);
  return 0;
}

}  // namespace ak::tools
