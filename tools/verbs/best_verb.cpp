// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/figure_texts.h"
#include "app/search/best_points.h"
#include "app/setup/config.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "tools/operation_call.h"
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
  // A problem of the user's own is known where it has points.
  if (best.points.empty() && !problem.empty()) static_cast<void>(codegen::find_problem(problem));
  if (best.points.empty())
    print_stderr("note: {} has no measured point{}\n", file.string(),
                 problem.empty() ? "" : " of " + problem);
  write_file_atomically(output, to_json(best).dump(1) + "\n");
  fmt::print("wrote {}: {} points of {} kernel files\n", output, best.points.size(), best.sources.size());
  return 0;
}

void print_match(const Json& match) {
  std::string tunables;
  for (const auto& [name, value] : match["tunables"].items())
    tunables += fmt::format(" {}={}", name, value.dump());
  fmt::print("{}{}\n  {}\n  {}{} there, {} ({} samples, {})\n", match["template"].get<std::string>(),
             tunables, match["note"].get<std::string>(),
             match["emulated"].get<bool>() ? "estimated cost " : "",
             app::format_ns(match["time_ns"].get<double>()),
             match["confirmed"].get<bool>() ? "measured again in a fresh process" : "measured in a search",
             match["samples"].get<int>(), match["date"].get<std::string>());
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
  Json request = problem_flags.request({});
  request.update({{"file", file}, {"product", product}, {"emulated", emulated}});
  const operations::Answer answer = call_operation("look_up_best", request, "best lookup", arguments);
  if (json) {
    print_json(answer);
  } else if (answer.failed) {
    fmt::print("{}\n", answer.content["note"].get<std::string>());
  } else {
    print_match(answer.content);
  }
  return exit_code_of(answer);
}

int run_best(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"export", "write the best known points", export_best},
                                           Verb{"lookup", "find the best known point", look_up}};
  return run_subcommand(kSubcommands, kBestHelp, arguments);
}

}  // namespace

const Verb kBestVerb{"best", "write the best known points to a file, or look one up", run_best, kRecordVerbs};

}  // namespace ak::tools
