// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "core/time_limit.h"
#include "db/database.h"
#include "db/read/filter_hints.h"
#include "db/read/named_queries.h"
#include "db/read/query_process.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/former_names.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

const std::map<std::string, db::TableFormat> kQueryFormats{{"table", db::TableFormat::table},
                                                           {"csv", db::TableFormat::csv},
                                                           {"json", db::TableFormat::json},
                                                           {"markdown", db::TableFormat::markdown}};

std::string default_text(const db::QueryParameter& parameter) {
  if (parameter.required) return " (needed)";
  if (const auto* number = std::get_if<std::int64_t>(&parameter.value)) return fmt::format(" ({})", *number);
  if (const auto* text = std::get_if<std::string>(&parameter.value)) return fmt::format(" ({})", *text);
  return "";
}

std::filesystem::path own_queries() {
  const std::filesystem::path config = app::config_path();
  return config.empty() ? config : config.parent_path() / "queries";
}

void list_queries(const std::vector<db::NamedQuery>& queries) {
  for (const db::NamedQuery& query : queries) {
    fmt::print("{}\n    {}\n", query.name, query.title);
    for (const db::QueryParameter& parameter : query.parameters)
      fmt::print("    {}=  {}{}\n", parameter.name, parameter.help, default_text(parameter));
  }
}

/// A name among the queries, or SQL, whose parameters have the types of their values.
db::NamedQuery chosen_query(const std::string& text, const std::vector<std::string>& given) {
  const std::vector<db::NamedQuery> queries = db::named_queries(own_queries());
  const auto found = std::ranges::find(queries, text, &db::NamedQuery::name);
  if (found != queries.end()) return *found;
  if (text.find_first_of(" \t\n") == std::string::npos) {
    std::vector<std::string> names;
    for (const db::NamedQuery& query : queries) names.push_back(query.name);
    fail(ExitCode::usage, "there is no query '{}'{}; alphakernel query --list shows them", text,
         did_you_mean(text, names));
  }
  db::NamedQuery query{.name = "SQL", .title = "", .sql = text, .parameters = {}};
  for (const std::string& value : given) {
    db::QueryParameter parameter{.name = value.substr(0, value.find('=')), .help = "", .value = {}};
    const std::string rest = value.substr(std::min(value.size(), parameter.name.size() + 1));
    if (!rest.empty() && rest.find_first_not_of("0123456789", rest[0] == '-' ? 1 : 0) == std::string::npos)
      parameter.type = db::QueryParameter::Type::integer;
    query.parameters.push_back(std::move(parameter));
  }
  return query;
}

/// `query sessions` showed single searches once.
void point_to_searches(const db::NamedQuery& query, const db::Table& table) {
  if (query.name == "sessions" && table.rows.empty())
    print_stderr("note: there is no queue of searches; single searches: alphakernel query searches\n");
}

struct QueryFlags {
  std::string text, database, format = "table";
  std::vector<std::string> given;
  std::size_t limit = 1000;
  double seconds = 30;
  bool json = false, list = false, sql = false;
};

void add_query_flags(CLI::App& app, QueryFlags& flags) {
  app.add_option("query", flags.text, "the name of a query, or a SELECT");
  app.add_option("values", flags.given, "NAME=VALUE of the query's parameters");
  app.add_flag("--list", flags.list, "list the queries and their parameters");
  app.add_flag("--sql", flags.sql, "print the query's SQL instead of running it");
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  add_choice(app, "--format,-f", flags.format, {"table", "csv", "json", "markdown"},
             "format of what is printed (default: table)");
  app.add_flag("--json", flags.json, "the same as --format json");
  add_integer(app, "--limit", {.min = 0}, into(flags.limit),
              "show at most this many rows; 0 = all (default 1000)");
  add_quantity(app, "--timeout", kSeconds, into(flags.seconds),
               "give up after this many seconds (default 30)");
}

/// Prints the table, and what there is to say of it.
void print_query(const db::NamedQuery& query, const QueryFlags& flags) {
  const std::filesystem::path file = app::database_file(flags.database, app::load_config());
  const db::TableFormat format = flags.json ? db::TableFormat::json : kQueryFormats.at(flags.format);
  const db::QueryValues values = db::query_values(query, with_present_names(query, flags.given));
  const db::Table table =
      db::query_apart(file, query.sql, {.rows = flags.limit, .time = time_limit(flags.seconds)}, values);
  fmt::print("{}", db::render(table, format));
  point_to_searches(query, table);
  if (table.rows.empty() && !query.title.empty())
    for (const std::string& hint : db::filter_hints(file, query, values)) print_stderr("note: {}\n", hint);
  if (table.truncated)
    print_stderr("note: only the first {} rows are shown (--limit 0 shows all)\n", flags.limit);
}

int run_query(const app::Arguments& arguments) {
  CLI::App app{"Run a named query, or one SELECT, on the performance database (read-only).",
               "alphakernel query"};
  set_style(app,
            "Examples:\n"
            "  alphakernel query --list\n"
            "  alphakernel query leaderboard definition=softmax_bf16 places=5\n"
            "  alphakernel query \"SELECT * FROM leaderboard LIMIT 10\"\n"
            "  alphakernel query --format csv \"SELECT status, count(*) FROM evaluations WHERE search_id = "
            ":s GROUP BY status\" s=3\n"
            "Queries, and how to add your own: docs/queries.md. Tables, views and columns: docs/schema.md\n");
  QueryFlags flags;
  add_query_flags(app, flags);
  if (!parse(app, arguments)) return 0;
  if (flags.list) {
    list_queries(db::named_queries(own_queries()));
    return 0;
  }
  if (flags.text.empty()) fail(ExitCode::usage, "expected a query: its name (--list shows them) or a SELECT");
  const db::NamedQuery query = chosen_query(flags.text, flags.given);
  if (flags.sql)
    fmt::print("{}", query.sql);
  else
    print_query(query, flags);
  return 0;
}

}  // namespace

const Verb kQueryVerb{"query", "run a SELECT on the performance database", run_query, kRecordVerbs};

}  // namespace ak::tools
