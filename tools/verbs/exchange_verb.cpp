// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/exchange/exchange.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExchangeExamples =
    "Examples:\n"
    "  alphakernel exchange export dataset/             # definitions, workloads, solutions and traces of "
    "the database\n"
    "  alphakernel exchange check dataset/              # does it follow the rules of the format?\n"
    "  alphakernel exchange import dataset/ --db new.db\n";

Json faults_json(const std::vector<app::FileFault>& faults) {
  Json list = Json::array();
  for (const app::FileFault& fault : faults)
    list.push_back({{"file", fault.path}, {"message", fault.message}});
  return list;
}

void print_report(const app::ExchangeReport& report, const std::string& what, bool json) {
  if (json) {
    fmt::print("{}\n", Json{{"definitions", report.definitions},
                            {"workloads", report.workloads},
                            {"solutions", report.solutions},
                            {"traces", report.traces},
                            {"variants", report.variants},
                            {"notes", report.notes},
                            {"faults", faults_json(report.faults)}}
                           .dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}: {} definitions, {} workloads, {} solutions ({} of them variants), {} traces\n", what,
             report.definitions, report.workloads, report.solutions, report.variants, report.traces);
  for (const std::string& note : report.notes) fmt::print("  {}\n", note);
  for (const app::FileFault& fault : report.faults) fmt::print("  {}: {}\n", fault.path, fault.message);
}

int check(const fs::path& folder, bool json) {
  app::ExchangeReport report;
  const app::ExchangeSet set = app::read_exchange(folder, report.faults);
  report.definitions = set.definitions.size();
  report.solutions = set.solutions.size();
  for (const auto& [path, lines] : set.workloads) report.workloads += lines.size();
  for (const auto& [path, lines] : set.traces) report.traces += lines.size();
  print_report(report, folder.string(), json);
  return report.faults.empty() ? 0 : static_cast<int>(ExitCode::bad_input);
}

int run_exchange(const app::Arguments& arguments) {
  CLI::App app{
      "Exchange data sets with programs that know FlashInfer-Bench's files: definitions, workloads, "
      "solutions, traces. "
      "An import makes rows of definitions, of workloads, and of solutions that are CUDA with a launch plan; "
      "all else that follows the rules is kept next to the database and exported again.",
      "alphakernel exchange"};
  set_style(app, kExchangeExamples);
  std::string folder, database;
  bool json = false, all = false, force = false;
  const auto add = [&](const char* name, const char* help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("folder", folder, "the data set")->required();
    sub->add_flag("--json", json, "print JSON");
    return sub;
  };
  CLI::App* const to = add("export", "write the database as a data set");
  CLI::App* const from = add("import", "read a data set into the database");
  CLI::App* const only = add("check", "check a data set; exit code 3 where something breaks the rules");
  to->add_flag("--all", all, "variants that failed, too");
  to->add_flag("--force", force, "write into a folder that is not empty");
  for (CLI::App* sub : {to, from}) sub->add_option("--db", database, "performance database");
  app.require_subcommand(1);
  if (!parse(app, arguments)) return 0;
  if (only->parsed()) return check(folder, json);
  const fs::path file = app::database_file(database, app::load_config());
  if (to->parsed()) {
    if (!fs::exists(file)) fail(ExitCode::database, "there is no database {}", file.string());
    if (!force && fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
      fail(ExitCode::output, "{} is not empty; --force writes into it", folder);
    print_report(app::export_exchange(file, folder, all), folder, json);
    return 0;
  }
  const app::ExchangeReport report = app::import_exchange(folder, file);
  print_report(report, folder, json);
  return report.faults.empty() ? 0 : static_cast<int>(ExitCode::bad_input);
}

}  // namespace

const Verb kExchangeVerb{"exchange", "write and read data sets in FlashInfer-Bench's layout", run_exchange,
                         kServeVerbs};

}  // namespace ak::tools
