// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/figure_texts.h"
#include "app/pareto/pareto_front.h"
#include "app/search/best_points.h"
#include "app/setup/config.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "db/upgrade.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kBestHelp =
    "Usage: alphakernel best export [--db FILE] --output best.json\n"
    "       alphakernel best lookup best.json --algorithm NAME --shape ... --product DEVICE\n"
    "       alphakernel best front --algorithm NAME [--objectives time,error] [--picture FILE.svg]\n\n"
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
  db::require_database(file);
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

std::string objectives_help() {
  std::string help = "what is to be small, with commas between (default: time,error,shared):";
  for (const app::Objective& objective : app::objectives())
    help += fmt::format(" {} ({});", objective.name, objective.title);
  help.pop_back();
  return help;
}

/// Params as definitions store them, of those that flags name.
std::map<std::string, std::string> named_params(const ProblemFlags& flags) {
  std::map<std::string, std::string> given;
  const Json request = flags.request({});
  if (request.contains("shape"))
    fail(ExitCode::usage, "a front has all shapes that were timed: leave --shape out");
  if (request.contains("params"))
    for (const auto& [name, value] : request["params"].items()) given[name] = value.get<std::string>();
  std::map<std::string, std::string> named;
  const Params chosen = codegen::choose_params(flags.problem(), given);
  for (const auto& [name, text] : given) named[name] = to_string(chosen.at(name));
  return named;
}

int show_front(const app::Arguments& arguments) {
  CLI::App app{"Show the variants of a problem that no other beats in all of several objectives.",
               "alphakernel best front"};
  set_style(
      app,
      "Examples:\n"
      "  alphakernel best front --algorithm softmax --objectives time,error --picture front.svg\n"
      "  alphakernel best front --algorithm gemm --dtype bf16 --objectives time,energy,shared --json\n");
  std::string database, picture, wanted = "time,error,shared";
  bool json = false;
  app.add_option("--objectives", wanted, objectives_help());
  app.add_option("--picture", picture, "write an SVG picture to this file");
  app.add_option("--db", database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_flag("--json", json, "print JSON");
  const ProblemFlags flags(app, arguments);
  if (!parse(app, arguments)) return 0;
  if (!flags.given()) fail(ExitCode::usage, "say of which problem: --algorithm NAME or --problem DIR");
  auto objectives = app::parse_objectives(wanted);
  const auto params = named_params(flags);
  const std::filesystem::path file = app::database_file(database, app::load_config());
  db::require_database(file);
  const app::ParetoFront front = app::pareto_front(file, flags.problem().name, params, std::move(objectives));
  if (!picture.empty()) write_file_atomically(picture, front_picture(front));
  fmt::print("{}", json ? to_json(front).dump() + "\n" : front_text(front));
  return static_cast<int>(front.points.empty() ? ExitCode::no_kernel : ExitCode::ok);
}

int run_best(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"export", "write the best known points", export_best},
      Verb{"lookup", "find the best known point", look_up},
      Verb{"front", "show what no other beats in all objectives", show_front}};
  return run_subcommand(kSubcommands, kBestHelp, arguments);
}

}  // namespace

const Verb kBestVerb{"best", "write the best known points to a file, or look one up", run_best, kRecordVerbs};

}  // namespace ak::tools
