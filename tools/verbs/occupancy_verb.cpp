// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/device/block_occupancy.h"
#include "core/error.h"
#include "tools/kernel_arguments.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

// As many as CUDA's limits, and some more, so that what does not fit can be asked about.
constexpr IntegerRange kBlockThreads{.min = 1, .max = 2 * kMaxThreadsPerBlock};
constexpr IntegerRange kThreadRegisters{.min = 1, .max = 255};
constexpr QuantityRange kBlockBytes{.kind = QuantityRange::Kind::size, .max = 1 << 20, .unit = "B"};

std::string percent(double ratio) { return fmt::format("{:.4g} %", 100 * ratio); }

/// "block size, blocks and registers".
std::string limiters_text(const Json& occupancy) {
  auto names = occupancy["limiters"].get<std::vector<std::string>>();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{}{}{}", fmt::join(names, ", "), names.empty() ? "" : " and ", last);
}

std::string heading(const std::string& arch, const Json& launch) {
  const std::string name = launch.contains("kernel") ? launch["kernel"].get<std::string>() + " " : "";
  const auto names = launch.value("shapes", std::vector<std::string>{});
  const std::string shapes = names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "));
  return fmt::format("{}on {}{}: blocks of {} threads, {} registers a thread, {} bytes of shared memory\n",
                     name, arch, shapes, launch["threads"].get<int>(), launch["registers"].get<int>(),
                     launch["shared_bytes"].get<int>());
}

std::string fit_text(const Json& launch) {
  std::vector<std::string> parts;
  for (const Json& fit : launch["fits"])
    parts.push_back(fmt::format("{} {}", fit["resource"].get<std::string>(), fit["blocks"].get<int>()));
  return fmt::format("  blocks that fit: {}\n", fmt::join(parts, ", "));
}

/// "1 block", "4 blocks".
std::string blocks_text(const Json& occupancy) {
  const int blocks = occupancy["blocks_per_sm"].get<int>();
  return fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
}

std::string occupancy_percent(const Json& occupancy) { return percent(occupancy["occupancy"].get<double>()); }

constexpr int kWarp = 32;

std::string occupancy_text(const Json& sm, const Json& launch) {
  if (launch["blocks_per_sm"] == 0)
    return fmt::format("  cannot be launched: not one block fits, because of {}\n", limiters_text(launch));
  return fmt::format("  {} and {} of {} warps per SM: occupancy {}, limited by {}\n", blocks_text(launch),
                     launch["warps_per_sm"].get<int>(), sm["threads"].get<int>() / kWarp,
                     occupancy_percent(launch), limiters_text(launch));
}

/// What the next step asks for that the launch has otherwise.
std::vector<std::string> changes(const Json& launch, const Json& next) {
  const auto changed = [&](const char* what) { return next[what] != launch[what]; };
  const int threads = next["threads"].get<int>();
  std::vector<std::string> parts;
  if (changed("threads")) parts.push_back(fmt::format("blocks of {} threads", threads));
  if (changed("registers"))
    parts.push_back(fmt::format("at most {} registers a thread, e.g. by __launch_bounds__({}, {})",
                                next["registers"].get<int>(), threads, next["blocks_per_sm"].get<int>()));
  if (changed("shared_bytes"))
    parts.push_back(fmt::format("at most {} bytes of shared memory", next["shared_bytes"].get<int>()));
  if (changed("barriers")) parts.push_back(fmt::format("at most {} barriers", next["barriers"].get<int>()));
  return parts;
}

std::string step_text(const Json& launch) {
  if (!launch.contains("next")) return "  the SM is full: nothing lets more warps be resident\n";
  const Json& next = launch["next"];
  return fmt::format("  next step, {} and occupancy {}: {}\n", blocks_text(next), occupancy_percent(next),
                     fmt::join(changes(launch, next), "; "));
}

/// Sizes of blocks that people choose; the JSON has all.
bool is_usual_size(int threads) {
  return threads <= 64 || (threads <= 256 && threads % 64 == 0) || threads % 128 == 0;
}

std::string size_table(const Json& launch) {
  std::string text = "\n  threads  blocks  warps  occupancy  limited by\n";
  for (const Json& row : launch["by_block_size"]) {
    const bool own = row["threads"] == launch["threads"];
    const int threads = row["threads"].get<int>();
    if (!own && !is_usual_size(threads)) continue;
    text += fmt::format("{} {:>7}  {:>6}  {:>5}  {:>9}  {}\n", own ? '*' : ' ', threads,
                        row["blocks_per_sm"].get<int>(), row["warps_per_sm"].get<int>(),
                        occupancy_percent(row), limiters_text(row));
  }
  return text;
}

void print_launches(const Json& answer) {
  const Json& launches = answer["launches"];
  for (const Json& launch : launches)
    fmt::print("{}{}{}{}{}\n", heading(answer["arch"], launch), occupancy_text(answer["sm"], launch),
               fit_text(launch), step_text(launch), size_table(launch));
  if (!launches.empty() && launches[0].contains("kernel"))
    fmt::print("Registers are those of this build: another size of block may compile to others.\n");
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
  // Before a problem is asked for, which numbers do not need.
  app.callback([&] {
    if (!word.empty() && (threads || registers || shared->count() > 0))
      fail(ExitCode::usage, "give a kernel, or --threads, --registers and --shared, not both");
  });
  std::optional<Json> request = parse_kernel_request(app, arguments, word);
  if (!request) return 0;
  if (word.empty() && !(threads && registers))
    fail(ExitCode::usage, "expected a kernel, or --threads and --registers");
  if (threads) (*request)["threads"] = *threads;
  if (registers) (*request)["registers"] = *registers;
  if (shared->count() > 0) (*request)["shared_bytes"] = static_cast<int>(shared_bytes);
  add_text(*request, "arch", arch_name);
  const operations::Answer answer = call_operation("occupancy", *request, "occupancy", arguments);
  json ? print_json(answer) : print_launches(answer.content);
  return 0;
}

}  // namespace

const Verb kOccupancyVerb{"occupancy", "show how many blocks an SM holds, and what limits that",
                          run_occupancy, kJudgeVerbs};

}  // namespace ak::tools
