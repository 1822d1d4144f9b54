// SPDX-License-Identifier: Apache-2.0
#include "tools/library/library_check_command.h"

#include <fmt/format.h>

#include <optional>

#include "app/baselines/pytorch_turns.h"
#include "app/kernel_library/library_check.h"
#include "app/kernel_library/library_repair.h"
#include "app/kernel_library/package_compile.h"
#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"
#include "tools/library/tuning_session.h"
#include "tools/number_options.h"

namespace ak::tools {
namespace {

constexpr const char* kCheckHelp =
    "Examples:\n"
    "  alphakernel library check dist/\n"
    "  alphakernel library check dist/ --operator mlp_down --baselines eager,compile --json\n"
    "  alphakernel library check dist/ --repair --tune 90      # tunes what fell behind, and builds dist/ "
    "anew\n"
    "\n"
    "Every kernel is checked and timed; where it compiles to other machine code than the package has, in "
    "pairs "
    "with\n"
    "that; and in turns with PyTorch. The first check records the turns that later ones compare with.\n"
    "Exit code 0: no regression; 8: a kernel is over 2 % slower, was passed by PyTorch, or fails; 5: nothing "
    "could\n"
    "be compared here, or this is another device than the package was measured on.\n"
    "docs/kernel_library.md says how it decides, and how it runs every night.\n";

// An hour finds most of what templates have (chosen, as for `library build`).
constexpr int kRepairMinutes = 60;
// Fewer rounds have intervals that say little of 2 % (docs/timing.md); a thousand take minutes and gain nothing more.
constexpr IntegerRange kCheckRounds{.min = 12, .max = 1000};

struct CheckFlags {
  std::string package, device, database, baselines = "eager", compiler;
  std::vector<std::string> operators, problems;
  std::optional<int> rounds;
  int minutes = kRepairMinutes;
  bool repair = false, unaudited = false, json = false;
};

void declare_check(CLI::App& app, CheckFlags& flags) {
  app.add_option("package", flags.package, "the folder that `library build --output` wrote")
      ->required()
      ->group("Main");
  app.add_option("--operator", flags.operators, "only this one; may be repeated")->group("Main");
  app.add_flag("--repair", flags.repair,
               "tune what regressed, and build the package anew where something faster was found")
      ->group("Main");
  add_integer(app, "--tune", {.min = 1, .max = 100'000}, into(flags.minutes),
              "with --repair, search so many minutes, shared out among what regressed; each "
              "kernel needs about a minute more (default: 60)");
  app.add_option("--baselines", flags.baselines,
                 "of PyTorch, as `alphakernel baselines` takes them; empty: none")
      ->capture_default_str();
  add_integer(app, "--rounds", kCheckRounds, into(flags.rounds), "of turns with PyTorch (default: 24)");
  app.add_option("--device", flags.device, "which GPU: auto, cuda, cuda:N, emulator");
  app.add_option("--problem", flags.problems,
                 "folder of a problem that is not shipped, for its kernels; may be repeated");
  app.add_option("--compiler", flags.compiler, "C++ compiler of --repair (default: $CXX, else c++)");
  app.add_option("--db", flags.database,
                 "the database that the package was built from (default: $ALPHAKERNEL_DB or the user's data "
                 "folder)");
  add_unaudited_flag(app, flags.unaudited);
  app.add_flag("--json", flags.json, "print JSON");
}

app::LibraryCheckOrder check_order(const CheckFlags& flags, const app::Config& config) {
  return {.package = flags.package,
          .problems = {flags.problems.begin(), flags.problems.end()},
          .operators = flags.operators,
          .device = flags.device.empty() ? config.device : flags.device,
          .measurement = {.baselines = app::parse_baselines(flags.baselines),
                          .rounds = flags.rounds.value_or(0),
                          .database = app::database_file(flags.database, config),
                          .command = "library check " + flags.package,
                          .unaudited = flags.unaudited}};
}

/// Tunes what regressed and makes the package anew.
app::Repair repair(const CheckFlags& flags, const app::LibraryCheckOrder& asked,
                   const app::LibraryCheck& check, const app::Config& config) {
  app::RepairOrder order{.package = flags.package,
                         .problems = asked.problems,
                         .database = asked.measurement.database,
                         .device = asked.device,
                         .compiler = flags.compiler,
                         .searches_after = app::newest_search(asked.measurement.database)};
  const app::TuningOrder tuning{.entries = app::entries_to_tune(check.package, check.regressed()),
                                .arch = app::check_target(check.package, asked.device).arch.sm(),
                                .device = flags.device,
                                .minutes = flags.minutes,
                                .problems = asked.problems,
                                .unaudited = flags.unaudited};
  if (!tuning.entries.empty()) {
    print_stderr("tuning again, in {} minutes at most:\n{}\n", flags.minutes, entries_text(tuning.entries));
    run_tuning_session(write_tuning_manifest(flags.package, tuning), order.database);
  }
  return app::repair_package(check, order, config,
                             [](const std::string& line) { print_stderr("{}\n", line); });
}

Json repair_json(const app::Repair& repair) {
  return {{"replaced", repair.replaced}, {"notes", repair.notes}};
}

std::string repair_text(const app::Repair& repair, const std::string& package) {
  std::string text;
  for (const auto& [name, kernel] : repair.replaced) text += fmt::format("{} is {} now\n", name, kernel);
  for (const std::string& note : repair.notes) text += fmt::format("note: {}\n", note);
  return text + (repair.replaced.empty() ? fmt::format("{} stays as it was\n", package)
                                         : fmt::format("{} was built anew: pip install it again\n", package));
}

}  // namespace

int check_packaged_library(const app::Arguments& arguments) {
  CLI::App app{
      "Measure the kernels of a package again, on this machine and its driver, and name those that have "
      "become slower.",
      "alphakernel library check"};
  set_style(app, kCheckHelp);
  CheckFlags flags;
  declare_check(app, flags);
  if (!parse(app, arguments)) return 0;
  const app::Config config = app::load_config();
  const app::LibraryCheckOrder order = check_order(flags, config);
  if (flags.repair) app::require_compiler(flags.compiler);
  app::LibraryCheck check;
  {
    const app::InterruptGuard interrupt;
    check = app::check_library(
        order, config, [](std::string_view what) { print_stderr("{}\n", what); }, &interrupt.requested());
  }
  const std::vector<std::string> regressed = check.regressed();
  std::optional<app::Repair> repaired;
  if (flags.repair && !regressed.empty()) repaired = repair(flags, order, check, config);
  if (flags.json) {
    Json json = app::library_check_json(check);
    if (repaired) json["repair"] = repair_json(*repaired);
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}{}", app::library_check_text(check), repaired ? repair_text(*repaired, flags.package) : "");
  }
  const bool all_replaced = repaired && repaired->replaced.size() == regressed.size();
  return static_cast<int>(regressed.empty() || all_replaced ? ExitCode::ok : ExitCode::expectation);
}

}  // namespace ak::tools
