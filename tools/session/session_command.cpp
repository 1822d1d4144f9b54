// SPDX-License-Identifier: Apache-2.0
#include "tools/session/session_command.h"

#include <fmt/format.h>

#include "app/session/session_process.h"
#include "app/session/session_runner.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/live_text.h"
#include "tools/number_options.h"
#include "tools/search_report.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

void print_job(const fs::path& database, RowId id, const std::string& job, const SessionCommand& common) {
  const std::string log = app::session_log(database, id).string();
  if (common.json)
    fmt::print("{}\n", Json{{"session", id}, {"log", log}, {"job", job}}.dump());
  else
    fmt::print(
        "session {0} is job {1} of Slurm; its log: {2}\n"
        "  alphakernel session status {0}\n"
        "  alphakernel session stop {0}\n",
        id, job, log);
}

}  // namespace

fs::path SessionCommand::file() const {
  return fs::absolute(app::database_file(database, app::load_config()));
}

void add_database(CLI::App& app, SessionCommand& common) {
  app.add_option("--db", common.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
}

bool parse_numbered(CLI::App& app, const app::Arguments& arguments, SessionCommand& common,
                    NoNumber without) {
  set_style(app, "Sessions: docs/sessions.md\n");
  auto* number = add_integer(
      app, "number", kAnyNumber, into(common.id),
      without == NoNumber::latest ? "number of the session (default: the latest)" : "number of the session");
  if (without == NoNumber::refused) number->required();
  add_database(app, common);
  return parse(app, arguments);
}

RowId chosen_session(const SessionCommand& common, db::SessionStore& store) {
  if (common.id) return *common.id;
  const auto all = store.all();
  if (all.empty())
    fail(ExitCode::usage, "there is no session yet; begin one with: alphakernel session start");
  return all.back();
}

std::optional<app::GenerateCommand> read_search(const app::Arguments& arguments, std::string command) {
  return generate_command(arguments, std::move(command));
}

int run_here(const fs::path& database, RowId id, const std::string& pool) {
  const auto read = [&](const app::Arguments& arguments, std::string command) {
    app::Arguments all = arguments;
    if (!pool.empty()) all.push_back("--pool=" + pool);
    return read_search(all, std::move(command));
  };
  return app::run_searches(database, id, read, {.show = print_search, .line = [](const std::string& line) {
                                                  print_now(line + "\n");
                                                }});
}

int launch(const fs::path& database, RowId id, const SessionCommand& common) {
  if (common.foreground) return run_here(database, id);
  app::start_detached(database, id);
  if (common.json) {
    fmt::print("{}\n", Json{{"session", id}, {"log", app::session_log(database, id).string()}}.dump());
    return 0;
  }
  fmt::print(
      "session {} runs; its log: {}\n"
      "  alphakernel session status {} --watch\n"
      "  alphakernel session stop {}\n",
      id, app::session_log(database, id).string(), id, id);
  return 0;
}

void submit(db::SessionStore& store, RowId id, const SessionCommand& common,
            const std::function<std::string()>& submit_job) {
  try {
    print_job(common.file(), id, submit_job(), common);
  } catch (const Error& error) {
    store.end(id, "failed", error.what(), static_cast<int>(error.code()));
    throw Error(error.code(),
                fmt::format("{} (again with: alphakernel session resume {})", error.what(), id));
  }
}

}  // namespace ak::tools
