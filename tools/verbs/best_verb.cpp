// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/figure_texts.h"
#include "app/search/best_lookup.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "runtime/build/candidate_plan.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kBestHelp =
    "Usage: alphakernel best export [--db FILE] --output best.json\n"
    "       alphakernel best lookup best.json --algorithm NAME --shape ... --product DEVICE\n\n"
    "The best known points of every kernel file, shape and device (docs/tuning.md).\n";

int export_best(const app::Arguments& arguments) {
  CLI::App app{"Write the best known points of a database to a file.", "alphakernel best export"};
  set_style(app, "Example:\n  alphakernel best export --output best.json\n");
  std::string database, output, problem;
  app.add_option("--db", database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--output,-o", output, "file to write")->required();
  app.add_option("--algorithm", problem, "only points of this problem");
  if (!parse(app, arguments)) return 0;
  const std::filesystem::path file = app::database_file(database, app::load_config());
  if (!std::filesystem::exists(file)) fail(ExitCode::database, "there is no database {}", file.string());
  const app::BestPoints best = app::best_points_of(file, problem);
  write_file_atomically(output, to_json(best).dump(1) + "\n");
  fmt::print("wrote {}: {} points of {} kernel files\n", output, best.points.size(), best.sources.size());
  return 0;
}

/// The device that a flag names: a product of the catalogue, or an architecture with its
/// nominal product's facts.
DeviceFacts device_of(const std::string& product, const Arch& arch) {
  DeviceFacts device = runtime::nominal_device(arch);
  const DeviceEntry* entry = DeviceCatalog::shipped().find(product);
  if (entry == nullptr || !entry->is_product()) return device;
  device.name = entry->name;
  device.sm_count = static_cast<int>(entry->value("sm_count").value_or(device.sm_count));
  return device;
}

Json match_json(const app::BestMatch& match, const app::BestQuestion& question,
                const app::BestSource& source) {
  const app::BestPoint& point = *match.point;
  return {{"exact", match.exact()},     {"note", app::match_text(match, question)},
          {"template", source.name},    {"source", point.source},
          {"tunables", point.tunables}, {"time_ns", point.time_ns},
          {"emulated", point.emulated}, {"confirmed", point.confirmed},
          {"shape", point.shape},       {"device", point.device},
          {"arch", point.arch.sm()},    {"samples", point.samples},
          {"date", point.date},         {"provenance", point.provenance}};
}

void print_match(const app::BestMatch& match, const app::BestQuestion& question,
                 const app::BestSource& source) {
  const app::BestPoint& point = *match.point;
  std::string tunables;
  for (const auto& [name, value] : point.tunables) tunables += fmt::format(" {}={}", name, value);
  fmt::print("{}{}\n  {}\n  {}{} there, {} ({} samples, {})\n", source.name, tunables,
             app::match_text(match, question), point.emulated ? "estimated cost " : "",
             app::format_ns(point.time_ns),
             point.confirmed ? "measured again in a fresh process" : "measured in a search", point.samples,
             point.date);
}

int look_up(const app::Arguments& arguments) {
  CLI::App app{"Find the best known point for a shape and a device in a file of best points.",
               "alphakernel best lookup"};
  set_style(app,
            "Example:\n  alphakernel best lookup best.json --algorithm gemm --dtype bf16 --shape "
            "M=4096,N=4096,K=4096 --product h200\n");
  std::string file, product;
  bool json = false, emulated = false;
  app.add_option("file", file, "file that `alphakernel best export` wrote")->required();
  app.add_option("--product,--arch,--target", product, "the device, e.g. h200 or sm_90a")->required();
  app.add_flag("--emulated", emulated, "the CPU device of this architecture, whose costs are estimates");
  app.add_flag("--json", json, "print JSON");
  const ProblemFlags problem_flags(app, arguments);
  if (!parse(app, arguments)) return 0;
  const app::BestPoints best = app::read_best_points(file);
  const Result<Arch> arch = parse_arch(product);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  const auto problem = problem_flags.instance();
  if (problem->workloads.size() != 1) fail(ExitCode::usage, "say which shape: --shape M=4096,...");
  const app::BestQuestion question{
      .problem = problem,
      .shape = problem->workloads.front().axes,
      .device = emulated ? runtime::emulated_device_facts(*arch) : device_of(product, *arch),
      .arch = *arch};
  const auto matches = app::best_matches(best, question, false);
  if (json) {
    fmt::print(
        "{}\n",
        matches.empty()
            ? "null"
            : match_json(matches.front(), question, best.sources.at(matches.front().point->source)).dump());
  } else if (!matches.empty()) {
    print_match(matches.front(), question, best.sources.at(matches.front().point->source));
  } else {
    fmt::print("no point of {} is known that is valid for this shape on a device of this family\n",
               problem->definition.name);
  }
  return static_cast<int>(matches.empty() ? ExitCode::no_kernel : ExitCode::ok);
}

int run_best(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"export", "write the best known points", export_best},
                                           Verb{"lookup", "find the best known point", look_up}};
  return run_subcommand(kSubcommands, kBestHelp, arguments);
}

}  // namespace

const Verb kBestVerb{"best", "write the best known points to a file, or look one up", run_best, kRecordVerbs};

}  // namespace ak::tools
