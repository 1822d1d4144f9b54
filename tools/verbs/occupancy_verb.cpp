// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/evaluate/kernel_choice.h"
#include "app/occupancy/kernel_occupancy.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

// As many as CUDA's limits, and some more, so that what does not fit can be asked about.
constexpr IntegerRange kBlockThreads{.min = 1, .max = 2 * kMaxThreadsPerBlock};
constexpr IntegerRange kThreadRegisters{.min = 1, .max = 255};
constexpr Quantity kBlockBytes{.kind = Quantity::Kind::size, .max = 1 << 20, .unit = "B"};

std::string percent(double ratio) { return fmt::format("{:.4g} %", 100 * ratio); }

/// "block size, blocks and registers".
std::string limiters_text(const BlockOccupancy& occupancy) {
  std::vector<std::string_view> names = occupancy.limiters();
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{}{}{}", fmt::join(names, ", "), names.empty() ? "" : " and ", last);
}

std::string heading(const Arch& arch, const app::LaunchNeeds& launch) {
  const BlockNeeds& block = launch.block;
  const std::string name = launch.kernel.empty() ? "" : launch.kernel + " ";
  const std::string shapes =
      launch.shapes.empty() ? "" : fmt::format(" ({})", fmt::join(launch.shapes, ", "));
  return fmt::format("{}on {}{}: blocks of {} threads, {} registers a thread, {} bytes of shared memory\n",
                     name, arch.sm(), shapes, block.threads, block.registers, block.shared_bytes);
}

std::string fit_text(const BlockOccupancy& occupancy) {
  std::vector<std::string> parts;
  for (const ResourceFit& fit : occupancy.fits) {
    if (fit.blocks != kUnlimited) parts.push_back(fmt::format("{} {}", fit.resource, fit.blocks));
  }
  return fmt::format("  blocks that fit: {}\n", fmt::join(parts, ", "));
}

/// "1 block", "4 blocks".
std::string blocks_text(int blocks) { return fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s"); }

std::string occupancy_text(const BlockOccupancy& occupancy) {
  if (occupancy.blocks_per_sm == 0)
    return fmt::format("  cannot be launched: not one block fits, because of {}\n", limiters_text(occupancy));
  return fmt::format("  {} and {} of {} warps per SM: occupancy {}, limited by {}\n",
                     blocks_text(occupancy.blocks_per_sm), occupancy.warps_per_sm, occupancy.max_warps_per_sm,
                     percent(occupancy.ratio()), limiters_text(occupancy));
}

/// What has to change, as phrases.
std::vector<std::string> changes(const BlockNeeds& now, const OccupancyStep& step) {
  const BlockNeeds& next = step.block;
  std::vector<std::string> parts;
  if (next.threads != now.threads) parts.push_back(fmt::format("blocks of {} threads", next.threads));
  if (next.registers != now.registers)
    parts.push_back(fmt::format("at most {} registers a thread, e.g. by __launch_bounds__({}, {})",
                                next.registers, next.threads, step.occupancy.blocks_per_sm));
  if (next.shared_bytes != now.shared_bytes)
    parts.push_back(fmt::format("at most {} bytes of shared memory", next.shared_bytes));
  if (next.barriers != now.barriers) parts.push_back(fmt::format("at most {} barriers", next.barriers));
  return parts;
}

std::string step_text(const ArchLimits& limits, const BlockNeeds& block) {
  const auto step = next_occupancy_step(limits, block);
  if (!step) return "  the SM is full: nothing lets more warps be resident\n";
  return fmt::format("  next step, {} and occupancy {}: {}\n", blocks_text(step->occupancy.blocks_per_sm),
                     percent(step->occupancy.ratio()), fmt::join(changes(block, *step), "; "));
}

/// Sizes of blocks that people choose; the JSON has all.
bool is_usual_size(int threads) {
  return threads <= 64 || (threads <= 256 && threads % 64 == 0) || threads % 128 == 0;
}

std::string size_table(const ArchLimits& limits, const app::LaunchNeeds& launch) {
  std::string text = "\n  threads  blocks  warps  occupancy  limited by\n";
  for (const app::SizedOccupancy& row : app::occupancy_by_size(limits, launch)) {
    const bool own = row.threads == launch.block.threads;
    if (!own && !is_usual_size(row.threads)) continue;
    text += fmt::format("{} {:>7}  {:>6}  {:>5}  {:>9}  {}\n", own ? '*' : ' ', row.threads,
                        row.occupancy.blocks_per_sm, row.occupancy.warps_per_sm,
                        percent(row.occupancy.ratio()), limiters_text(row.occupancy));
  }
  return text;
}

void print_launches(const Arch& arch, const std::vector<app::LaunchNeeds>& launches) {
  const ArchLimits limits = occupancy_limits(arch).value();
  for (const app::LaunchNeeds& launch : launches) {
    const BlockOccupancy occupancy = block_occupancy(limits, launch.block);
    fmt::print("{}{}{}{}{}\n", heading(arch, launch), occupancy_text(occupancy), fit_text(occupancy),
               step_text(limits, launch.block), size_table(limits, launch));
  }
  if (!launches.empty() && !launches.front().kernel.empty())
    fmt::print("Registers are those of this build: another size of block may compile to others.\n");
}

app::LaunchNeeds launch_of_numbers(std::optional<int> threads, std::optional<int> registers,
                                   int shared_bytes) {
  if (!threads || !registers) fail(ExitCode::usage, "expected a kernel, or --threads and --registers");
  return {.block = {.threads = *threads, .registers = *registers, .shared_bytes = shared_bytes},
          .dynamic_shared_bytes = shared_bytes};
}

int run_occupancy(const app::Arguments& arguments) {
  CLI::App app{
      "Show how many blocks of a kernel an SM holds, what limits that, and what one more would need: for a "
      "kernel, or for numbers.",
      "alphakernel occupancy"};
  set_style(app,
            "Examples:\n  alphakernel occupancy --threads 256 --registers 64 --shared 48KB --arch h200\n"
            "  alphakernel occupancy softmax.cu --arch sm_80\n"
            "  alphakernel occupancy mine.cu --algorithm softmax --dtype bf16 --json\n"
            "Rules and words: docs/occupancy.md\n");
  std::string word, arch_name, database;
  std::optional<int> threads, registers;
  double shared_bytes = 0;
  bool json = false;
  add_kernel(app, "kernel", word)->required(false);
  add_integer(app, "--threads", kBlockThreads, into(threads), "threads of a block");
  add_integer(app, "--registers", kThreadRegisters, into(registers), "registers of a thread");
  CLI::Option* shared =
      add_quantity(app, "--shared", kBlockBytes, into(shared_bytes),
                   "shared memory of a block, static and dynamic, e.g. 48KB (default: none)");
  app.add_option("--arch,--target", arch_name, "the architecture, e.g. h200 or sm_70 (default: native)");
  app.add_option("--db", database, "performance database to look a kernel up in");
  app.add_flag("--json", json, "print JSON");
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> kernel = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  const bool numbers = threads || registers || shared->count() > 0;
  if (!kernel && !word.empty()) kernel = app::choose_kernel(word, db_file);
  if (kernel && numbers)
    fail(ExitCode::usage, "give a kernel, or --threads, --registers and --shared, not both");
  const app::Config config = app::load_config();
  const Arch arch = app::occupancy_arch(arch_name, config);
  const std::vector<app::LaunchNeeds> launches =
      kernel
          ? app::launches_of_kernel(problem_flags.instance(kernel->params), kernel->candidate, arch, config)
          : std::vector{launch_of_numbers(threads, registers, static_cast<int>(shared_bytes))};
  if (json)
    fmt::print("{}\n", app::occupancy_json(arch, launches).dump());
  else
    print_launches(arch, launches);
  return 0;
}

}  // namespace

const Verb kOccupancyVerb{"occupancy", "show how many blocks an SM holds, and what limits that",
                          run_occupancy, kJudgeVerbs};

}  // namespace ak::tools
