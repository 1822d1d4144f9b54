// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/json.h"
#include "db/merge/database_export.h"
#include "db/merge/merge.h"
#include "db/merge/verify.h"
#include "db/upgrade.h"
#include "serve/pages/report/period.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_merge(const std::filesystem::path& into, const std::vector<std::string>& files, bool json) {
  Json report = Json::array();
  for (const std::string& file : files) {
    Json tables = Json::object();
    std::int64_t added = 0, known = 0;
    for (const db::MergedTable& table : db::merge(into, file)) {
      added += table.rows;
      known += table.known;
      tables[table.table] = {{"added", table.rows}, {"known", table.known}};
    }
    if (!json) fmt::print("{}: {} rows added, {} were known\n", file, added, known);
    report.push_back({{"file", file}, {"tables", tables}});
  }
  if (json) fmt::print("{}\n", report.dump());
  return 0;
}

int run_upgrade(const std::filesystem::path& file, bool json) {
  const db::Upgrade upgrade = db::upgrade(file);
  if (json)
    fmt::print("{}\n", Json{{"file", file.string()}, {"from", upgrade.from}, {"to", upgrade.to}}.dump());
  else if (upgrade.from == upgrade.to)
    fmt::print("{}: schema version {} is the present one\n", file.string(), upgrade.to);
  else
    fmt::print("{}: upgraded from schema version {} to {}\n", file.string(), upgrade.from, upgrade.to);
  return 0;
}

int run_verify(const std::filesystem::path& file, bool json) {
  const std::vector<std::string> wrong = db::verify(file);
  if (json) {
    fmt::print("{}\n", Json{{"file", file.string()}, {"wrong", wrong}}.dump());
  } else {
    for (const std::string& line : wrong) fmt::print("{}\n", line);
    if (wrong.empty()) fmt::print("{}: nothing is wrong\n", file.string());
  }
  return wrong.empty() ? 0 : static_cast<int>(ExitCode::database);
}

int run_db(const app::Arguments& arguments) {
  CLI::App app{"Merge, export, verify and upgrade performance databases.", "alphakernel db"};
  set_style(app, "Many databases: docs/queries.md#many-databases\n");
  std::string database, to, since, old;
  std::vector<std::string> files;
  bool json = false;
  app.require_subcommand(1);
  const auto common = [&](CLI::App* verb) {
    verb->add_option("--db", database,
                     "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
    verb->add_flag("--json", json, "print the result as JSON");
    return verb;
  };
  CLI::App* merge =
      common(add_subcommand(app, "merge", "Add what other databases have and --db lacks; again adds nothing.",
                            "Examples:\n  alphakernel db merge machine1.db machine2.db --db all.db\n"));
  merge->add_option("files", files, "databases to merge into --db")->required();
  CLI::App* exported =
      common(add_subcommand(app, "export", "Write a database with the latest searches alone.",
                            "Examples:\n  alphakernel db export week.db --since 2026-11-16\n"));
  exported->add_option("file", to, "the new database")->required();
  exported->add_option("--since", since,
                       "searches that began at this time or later, e.g. 2026-11-16 (default: all)");
  common(add_subcommand(app, "verify", "Look for damage: structure, references, hashes.",
                        "Examples:\n  alphakernel db verify\n"));
  CLI::App* upgraded = common(add_subcommand(
      app, "upgrade", "Bring a file of an older version to the present schema; a backup is kept next to it.",
      "Examples:\n  alphakernel db upgrade old.db\n"));
  upgraded->add_option("file", old, "the database (default: --db)");
  if (!parse(app, arguments)) return 0;
  const std::filesystem::path file =
      app::database_file(upgraded->parsed() && !old.empty() ? old : database, app::load_config());
  if (upgraded->parsed()) return run_upgrade(file, json);
  if (merge->parsed()) return run_merge(file, files, json);
  if (!exported->parsed()) return run_verify(file, json);
  const std::string from =
      since.empty() ? "" : pages::date_period(since, "", std::chrono::system_clock::now()).since;
  const std::int64_t searches = db::export_since(file, to, from);
  if (json)
    fmt::print("{}\n", Json{{"file", to}, {"searches", searches}}.dump());
  else
    fmt::print("{}: {} searches\n", to, searches);
  return 0;
}

}  // namespace

const Verb kDbVerb{"db", "merge, export, verify and upgrade performance databases", run_db, kProgramVerbs};

}  // namespace ak::tools
