// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "core/say.h"
#include "core/suggest.h"
#include "db/database.h"
#include "tools/command_line.h"
#include "tools/config.h"

namespace ak::tools {
namespace {

struct FormatName {
  std::string_view name;
  db::TableFormat format;
};
constexpr std::array kFormats{
    FormatName{"table", db::TableFormat::table}, FormatName{"csv", db::TableFormat::csv},
    FormatName{"json", db::TableFormat::json}, FormatName{"markdown", db::TableFormat::markdown}};

db::TableFormat parse_format(const std::string& text) {
  std::vector<std::string> names;
  for (const FormatName& entry : kFormats) {
    if (text == entry.name) return entry.format;
    names.emplace_back(entry.name);
  }
  fail(ExitCode::usage, "unknown format '{}'{}; expected {}", text, did_you_mean(text, names),
       fmt::join(names, ", "));
}

}  // namespace

int run_query(const Arguments& arguments) {
  CLI::App app{"Run one SELECT on the performance database (read-only).", "alphakernel query"};
  set_style(app,
            "Examples:\n"
            "  alphakernel query \"SELECT * FROM leaderboard LIMIT 10\"\n"
            "  alphakernel query --format csv \"SELECT status, count(*) FROM evaluations GROUP BY status\" > "
            "status.csv\n"
            "Tables, views and columns: docs/schema.md\n");
  std::string sql, database, format = "table";
  std::size_t limit = 1000;
  double seconds = 30;
  bool json = false;
  app.add_option("sql", sql, "the SELECT")->required();
  app.add_option("--db", database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_option("--format,-f", format, "table, csv, json or markdown");
  app.add_flag("--json", json, "the same as --format json");
  app.add_option("--limit", limit, "show at most this many rows; 0 = all (default 1000)");
  app.add_option("--timeout", seconds, "give up after this many seconds (default 30)");
  if (!parse(app, arguments)) return 0;
  const Config config = load_config();
  const std::filesystem::path file = database_file(database, config);
  const db::TableFormat chosen = json ? db::TableFormat::json : parse_format(format);
  const db::Table table =
      db::query(file, sql, limit, std::chrono::milliseconds(std::llround(seconds * 1000)));
  fmt::print("{}", db::render(table, chosen));
  if (table.truncated) say("note: only the first {} rows are shown (--limit 0 shows all)\n", limit);
  return 0;
}

}  // namespace ak::tools
