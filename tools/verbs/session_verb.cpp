// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/session/session_abandonment.h"
#include "app/session/session_home.h"
#include "app/session/session_plan.h"
#include "app/session/session_process.h"
#include "app/session/session_status.h"
#include "app/setup/interrupt.h"
#include "app/slurm/job_process.h"
#include "app/slurm/session_array.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "db/upgrade.h"
#include "tools/command_line.h"
#include "tools/live_text.h"
#include "tools/operation_call.h"
#include "tools/session/session_command.h"
#include "tools/session/session_start.h"
#include "tools/session/session_stop.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    "Run a queue of searches overnight, apart from this terminal.\n\n"
    "Usage: alphakernel session start MANIFEST.json [--foreground] [--output-folder DIR] [--db FILE]\n"
    "       alphakernel session start --algorithm NAME ...   # one search, with the flags of generate\n"
    "       alphakernel session start ... --slurm [--dry-run] -- SBATCH OPTIONS   # as a job of Slurm\n"
    "       alphakernel session start MANIFEST.json... --slurm --array 8 -- SBATCH OPTIONS   # an array of "
    "jobs\n"
    "       alphakernel session start ... --merge-into FILE  # when it ends its database is merged into this "
    "one\n"
    "       alphakernel session status [N] [--watch] [--json] [--all]\n"
    "       alphakernel session stop N                       # cleanly: the best kernels are written\n"
    "       alphakernel session stop --array N               # all sessions of an array of jobs\n"
    "       alphakernel session resume N [--foreground]      # after stop, kill -9, a reboot or a lost GPU\n"
    "       alphakernel session abandon N                    # nobody will resume it: its questions are "
    "withdrawn\n"
    "       alphakernel session log [N] [--follow]\n\n"
    "A manifest:\n"
    "  {\"budgets\": {\"max_minutes\": 480, \"max_cost_usd\": 20},\n"
    "   \"defaults\": {\"arch\": \"h200\", \"model\": \"anthropic:claude-sonnet-5-5\"},\n"
    "   \"runs\": [{\"algorithm\": \"softmax\", \"params\": {\"dtype\": \"bfloat16\"}, \"share\": 2},\n"
    "            {\"algorithm\": \"gemm\", \"priority\": 1, \"max_evaluations\": 400}]}\n\n"
    "Searches run one after another, those of higher priority first; what one leaves of the budgets goes to\n"
    "the next. Everything is checked before anything runs. docs/sessions.md says more.\n"
    "Exit codes: docs/exit_codes.md\n";

void append_array(const app::SessionArray& array, std::vector<app::StoredSession>& sessions) {
  for (int number = 1; number <= array.size; ++number)
    sessions.push_back({.database = array.database(number), .session = 1});
}

/// The session that was given, or all, else the latest, or all of an array that was started after it.
std::vector<app::StoredSession> chosen_sessions(const SessionCommand& common, bool all,
                                                db::SessionStore& store) {
  const fs::path database = common.file();
  if (common.id) return {{.database = database, .session = *common.id}};
  std::vector<app::StoredSession> sessions;
  const std::vector<RowId> own = store.all();
  const std::vector<app::SessionArray> arrays = app::arrays_of(database);
  if (all) {
    for (const RowId one : own) sessions.push_back({.database = database, .session = one});
    for (const app::SessionArray& array : arrays) append_array(array, sessions);
    return sessions;
  }
  // What was merged began with its array.
  if (!arrays.empty() && arrays.back().size > 0) {
    const fs::path first = arrays.back().database(1);
    const std::string began = db::SessionStore(first, db::OpenMode::read_only).read(1).started_at;
    if (own.empty() || began >= store.read(own.back()).started_at) append_array(arrays.back(), sessions);
  }
  if (sessions.empty()) sessions.push_back({.database = database, .session = chosen_session(common, store)});
  return sessions;
}

int status(const app::Arguments& arguments) {
  CLI::App app{"Show the state of a session, or of those of an array.", "alphakernel session status"};
  SessionCommand common;
  bool watch = false, json = false, all = false;
  app.add_flag("--watch", watch, "wait until it has ended");
  app.add_flag("--json", json, "print one JSON object");
  app.add_flag("--all", all, "every session of the database, and of its arrays");
  if (!parse_numbered(app, arguments, common, NoNumber::latest)) return 0;
  db::SessionStore store(common.file(), db::OpenMode::read_only);
  const std::vector<app::StoredSession> sessions = chosen_sessions(common, all, store);
  if (watch) {
    const app::InterruptGuard interrupt;
    LiveText text;
    app::watch_status(sessions, text.interval(), interrupt.requested(),
                      [&](const std::string& status) { text.show(status); });
    return 0;
  }
  for (const app::StoredSession& one : sessions) {
    const operations::Answer answer =
        call_operation("session_status", {{"session", one.session}, {"detail", "full"}}, "session status",
                       {"--db=" + one.database.string()});
    json ? print_json(answer) : fmt::print("{}", answer.content["page"].get<std::string>());
  }
  return 0;
}

int resume(const app::Arguments& arguments) {
  CLI::App app{"Continue a session where it ended.", "alphakernel session resume"};
  SessionCommand common;
  std::string folder;
  app.add_flag("--foreground", common.foreground, "run here, and not apart from this terminal");
  app.add_option(
      "--folder", folder,
      "where the session's files are now: on another machine, to which they were copied with the database");
  if (!parse_numbered(app, arguments, common, NoNumber::refused)) return 0;
  const fs::path database = common.file();
  db::require_database(database);
  db::SessionStore store(database);
  if (db::SessionLock(database).is_taken(*common.id))
    fail(ExitCode::usage, "session {} is running already", *common.id);
  const db::Session session = store.read(*common.id);
  if (session.status == "finished" && std::ranges::all_of(session.runs, &db::SessionSearch::is_done)) {
    static_cast<void>(app::bring_home(session, database));  // its process may have been killed before
    fmt::print("session {} is finished\n", *common.id);
    return session.exit_code.value_or(0);
  }
  const bool slurm = app::runs_in_slurm(database, *common.id);
  if (slurm && (common.foreground || !folder.empty()))
    fail(ExitCode::usage, "session {} is a job of Slurm: leave --foreground and --folder out", *common.id);
  if (!folder.empty()) {
    if (!fs::is_directory(folder)) fail(ExitCode::bad_input, "there is no folder {}", folder);
    const db::Session now = app::moved(session, fs::canonical(folder));
    store.move(now, app::moved_mailboxes(session, now));
  }
  if (slurm) app::check_no_job(database, *common.id);
  store.queue(*common.id);
  if (slurm) {
    submit(store, *common.id, common, [&] { return app::submit_again(database, *common.id); });
    return 0;
  }
  return launch(database, *common.id, common);
}

int abandon(const app::Arguments& arguments) {
  CLI::App app{"Give up a session that does not run: its questions are withdrawn, and none resumes it.",
               "alphakernel session abandon"};
  SessionCommand common;
  if (!parse_numbered(app, arguments, common, NoNumber::refused)) return 0;
  const fs::path database = common.file();
  db::require_database(database);
  if (app::runs_in_slurm(database, *common.id)) app::check_no_job(database, *common.id);
  app::abandon_session(database, *common.id);
  db::SessionStore store(database, db::OpenMode::read_only);
  const db::Session session = store.read(*common.id);
  static_cast<void>(app::bring_home(session, database));
  fmt::print("{}", app::status_text(session, false));
  return 0;
}

int log(const app::Arguments& arguments) {
  CLI::App app{"Print what a session without a terminal has said.", "alphakernel session log"};
  SessionCommand common;
  bool follow = false;
  app.add_flag("--follow,-f", follow, "wait until it has ended");
  if (!parse_numbered(app, arguments, common, NoNumber::latest)) return 0;
  const fs::path database = common.file();
  db::SessionStore store(database, db::OpenMode::read_only);
  const app::InterruptGuard interrupt;
  app::read_log(database, chosen_session(common, store), follow, interrupt.requested(), print_now);
  return 0;
}

/// What start_detached() starts, and a job.
int work(const app::Arguments& arguments) {
  CLI::App app{"", "alphakernel session work"};
  SessionCommand common;
  std::string pool;
  app.add_option("--pool", pool, "");
  if (!parse_numbered(app, arguments, common, NoNumber::refused)) return 0;
  return run_here(common.file(), *common.id, pool);
}

/// What a job's script starts.
int job(const app::Arguments& arguments) {
  CLI::App app{"", "alphakernel session job"};
  SessionCommand common;
  std::string device;
  bool of_array = false;
  app.add_option("--device", device, "")->required()->check(CLI::IsMember({"cuda", "emulator"}));
  app.add_flag("--array", of_array, "");
  if (!parse_numbered(app, arguments, common, NoNumber::refused)) return 0;
  return app::run_job(common.file(), *common.id, device == "cuda" ? DeviceKind::cuda : DeviceKind::emulator,
                      of_array);
}

int run_session(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"start", "begin one", start_session},
                                           Verb{"status", "show the state of one", status},
                                           Verb{"stop", "end one cleanly", stop_session},
                                           Verb{"resume", "continue one", resume},
                                           Verb{"abandon", "give one up", abandon},
                                           Verb{"log", "print what one said", log},
                                           Verb{"work", "", work},
                                           Verb{"job", "", job}};
  if (arguments.empty() && !DescribeCommandLines::active()) {
    fmt::print("{}", kHelp);
    return static_cast<int>(ExitCode::usage);
  }
  return run_subcommand(kSubcommands, kHelp, arguments);
}

}  // namespace

const Verb kSessionVerb{"session",
                        "run a queue of searches overnight: start, status, stop, resume, abandon, log",
                        run_session, kFindVerbs};

}  // namespace ak::tools
