// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/session/session_abandonment.h"
#include "app/session/session_home.h"
#include "app/session/session_manifest.h"
#include "app/session/session_plan.h"
#include "app/session/session_process.h"
#include "app/session/session_runner.h"
#include "app/session/session_status.h"
#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "app/setup/target.h"
#include "app/slurm/batch_script.h"
#include "app/slurm/job_process.h"
#include "app/slurm/session_array.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/generate_command.h"
#include "tools/live_text.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "tools/search_report.h"
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

/// Flags that every subcommand has, and the number of the session.
struct Common {
  std::string database;
  std::optional<RowId> id;
  bool foreground = false;
  bool json = false;   ///< say what was started as JSON
  bool slurm = false;  ///< as a job
  bool dry_run = false;
  std::string home;   ///< merged into at the end
  std::string array;  ///< how many jobs
  app::Arguments sbatch_options;

  [[nodiscard]] fs::path file() const {
    return fs::absolute(app::database_file(database, app::load_config()));
  }
};

void add_database(CLI::App& app, Common& common) {
  app.add_option("--db", common.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
}

/// The number given, else that of the latest session.
RowId chosen(const Common& common, db::SessionStore& store) {
  if (common.id) return *common.id;
  const auto all = store.all();
  if (all.empty())
    fail(ExitCode::usage, "there is no session yet; begin one with: alphakernel session start");
  return all.back();
}

/// Without a view: a session's log has one of each search.
std::optional<app::GenerateCommand> read_search(const app::Arguments& arguments, std::string command) {
  return generate_command(arguments, std::move(command));
}

/// @param pool file of the devices of all its searches; empty: as each says
int run_here(const fs::path& database, RowId id, const std::string& pool = "") {
  const auto read = [&](const app::Arguments& arguments, std::string command) {
    app::Arguments all = arguments;
    if (!pool.empty()) all.push_back("--pool=" + pool);
    return read_search(all, std::move(command));
  };
  return app::run_searches(database, id, read, {.show = print_search, .line = [](const std::string& line) {
                                                  print_now(line + "\n");
                                                }});
}

int launch(const fs::path& database, RowId id, const Common& common) {
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

void print_job(const fs::path& database, RowId id, const std::string& job, const Common& common) {
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

/// Nothing is lost where that fails: the session can be resumed.
void submit(db::SessionStore& store, RowId id, const Common& common,
            const std::function<std::string()>& submit_job) {
  try {
    print_job(common.file(), id, submit_job(), common);
  } catch (const Error& error) {
    store.end(id, "failed", error.what(), static_cast<int>(error.code()));
    throw Error(error.code(),
                fmt::format("{} (again with: alphakernel session resume {})", error.what(), id));
  }
}

/// What is wrong with a session that others evaluate for: all but the devices, which are not here.
void check_job(db::Session& session, const fs::path& database, DeviceKind kind) {
  db::Session here = session;
  for (db::SessionSearch& run : here.runs) {
    run.arguments.push_back(fmt::format("--device={}", kind == DeviceKind::emulator ? "emulator" : "none"));
    if (kind == DeviceKind::cuda && !app::has_flag(run.arguments, "--arch"))
      run.arguments.push_back("--arch=" + app::emulated_by_default().sm());
  }
  app::check_session(here, database, read_search);
  for (std::size_t i = 0; i < session.runs.size(); ++i) session.runs[i].model = here.runs[i].model;
}

int start_job(db::Session session, const fs::path& database, const Common& common) {
  app::check_sbatch_options(common.sbatch_options);
  const DeviceKind kind = app::take_devices(session);
  db::SessionStore store(database);
  check_job(session, database, kind);
  const auto job_of = [&](RowId id) {
    return app::BatchJob{.database = database,
                         .session = id,
                         .log = app::session_log(database, id),
                         .kind = kind,
                         .options = common.sbatch_options};
  };
  const auto all = store.all();
  const std::string script = app::batch_script(job_of(all.empty() ? 1 : std::ranges::max(all) + 1));
  if (common.dry_run) {
    fmt::print("{}", script);
    return 0;
  }
  const RowId id = store.create(session);
  submit(store, id, common, [&] { return app::submit_session(job_of(id)); });
  return 0;
}

/// The sessions of an array: each manifest so often, with other seeds.
std::vector<db::Session> jobs_of(const std::vector<db::Session>& queues, int repeats,
                                 const app::SessionArray& array, const fs::path& home) {
  std::vector<db::Session> jobs;
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (const db::Session& queue : queues) {
      const int number = static_cast<int>(jobs.size()) + 1;
      jobs.push_back(app::job_of_array(queue, number, repeat));
      app::set_home(jobs.back(), home, array.database(number));
    }
  return jobs;
}

void print_array(const app::SessionArray& array, const std::string& job, const fs::path& home,
                 const Common& common) {
  if (!common.json) {
    fmt::print(
        "{0} sessions are the array {1} of Slurm; session 1 of {2}/N.db is its job {1}_N\n"
        "  alphakernel session status --db {3}    # of all of them\n"
        "  alphakernel session log 1 --db {2}/1.db\n"
        "  scancel {1}\n"
        "When they end they are merged into {4}\n",
        array.size, job, array.folder.string(), common.file().string(), home.string());
    return;
  }
  Json sessions = Json::array();
  for (int number = 1; number <= array.size; ++number) {
    const fs::path database = array.database(number);
    sessions.push_back({{"database", database.string()},
                        {"session", 1},
                        {"log", app::session_log(database, 1).string()},
                        {"job", fmt::format("{}_{}", job, number)}});
  }
  fmt::print("{}\n", Json{{"job", job}, {"merge_into", home.string()}, {"sessions", sessions}}.dump());
}

/// The kind of devices of all these sessions, which are checked.
DeviceKind check_jobs(std::vector<db::Session>& queues, const fs::path& database) {
  std::optional<DeviceKind> kind;
  for (db::Session& queue : queues) {
    const DeviceKind wanted = app::take_devices(queue);
    if (kind && *kind != wanted)
      fail(ExitCode::usage,
           "{}: one array has the CPU device or GPUs, and its other manifests want the other", queue.name);
    kind = wanted;
    check_job(queue, database, wanted);
  }
  return *kind;
}

int start_array(std::vector<db::Session> queues, const fs::path& database, const Common& common) {
  app::check_sbatch_options(common.sbatch_options);
  const app::ArrayWish wish = common.array.empty() ? app::ArrayWish{} : app::array_wish_from(common.array);
  const std::size_t size = queues.size() * static_cast<std::size_t>(wish.repeats);
  if (size > app::kMostArrayJobs)
    fail(ExitCode::usage, "{} jobs of an array, where {} are allowed", size, app::kMostArrayJobs);
  static_cast<void>(db::SessionStore(database));  // where `session status` looks for them
  const DeviceKind kind = check_jobs(queues, database);
  const app::SessionArray array = app::next_array(database, static_cast<int>(size));
  const fs::path home = common.home.empty() ? database : fs::absolute(common.home).lexically_normal();
  const std::vector<db::Session> jobs = jobs_of(queues, wish.repeats, array, home);
  const app::BatchArray batch{.folder = array.folder,
                              .size = array.size,
                              .at_once = wish.at_once,
                              .kind = kind,
                              .options = common.sbatch_options};
  if (common.dry_run) {
    fmt::print("{}", app::batch_script(batch));
    return 0;
  }
  app::make_output_folders(jobs);
  try {
    print_array(array, app::submit_array(array, jobs, batch), home, common);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} (each again with: alphakernel session resume 1 --db {}/N.db)",
                                          error.what(), array.folder.string()));
  }
  return 0;
}

bool take_flag(app::Arguments& arguments, std::string_view flag) { return std::erase(arguments, flag) > 0; }

/// A search that the flags of `generate` describe; its kernel goes into this folder.
db::Session queue_of_flags(app::Arguments arguments, Common& common) {
  common.foreground = take_flag(arguments, "--foreground");
  common.slurm = take_flag(arguments, "--slurm");
  common.dry_run = take_flag(arguments, "--dry-run");
  common.home = app::take_option(arguments, "--merge-into");
  common.array = app::take_option(arguments, "--array");
  common.database = app::take_option(arguments, "--db");
  db::Session session = app::one_search(std::move(arguments));
  app::Arguments& own = session.runs.front().arguments;
  if (!app::has_flag(own, "--output") && !app::has_flag(own, "-o"))
    own.push_back("--output=" + session.name + ".cu");
  return session;
}

/// Of each manifest its queue; none where help was asked for.
std::vector<db::Session> queues_of_manifests(const app::Arguments& arguments, Common& common) {
  CLI::App app{"Run the searches of a manifest.", "alphakernel session start"};
  set_style(app, "Manifests: docs/sessions.md\n");
  std::vector<std::string> manifests;
  std::string outputs = ".";
  app.add_option("manifest", manifests, "a JSON file (docs/sessions.md); with --slurm several, a job each")
      ->required();
  app.add_option("--output-folder,-o", outputs, "where kernels go (default: this folder)");
  app.add_flag("--foreground", common.foreground, "run here, and not apart from this terminal");
  app.add_flag("--json", common.json, "print number and log of the session as JSON");
  app.add_flag("--slurm", common.slurm,
               "as a job of Slurm; options of sbatch follow after -- (docs/fleet.md)");
  app.add_flag("--dry-run", common.dry_run, "print the script that --slurm would submit");
  app.add_option("--array", common.array,
                 "with --slurm: so many jobs of each manifest, with other seeds; 8%2: two of them at once");
  app.add_option("--merge-into", common.home, "when it ends, add its database's rows to this database");
  add_database(app, common);
  std::vector<db::Session> queues;
  if (!parse(app, arguments)) return queues;
  for (const std::string& manifest : manifests)
    queues.push_back(app::read_session_manifest(manifest, fs::absolute(outputs).lexically_normal()));
  return queues;
}

/// What follows "--".
app::Arguments take_rest(app::Arguments& arguments) {
  const auto at = std::ranges::find(arguments, "--");
  if (at == arguments.end()) return {};
  app::Arguments rest(at + 1, arguments.end());
  arguments.erase(at, arguments.end());
  return rest;
}

int start(const app::Arguments& given) {
  Common common;
  app::Arguments arguments = given;
  common.sbatch_options = take_rest(arguments);
  const bool by_flags = app::has_flag(arguments, "--algorithm") || app::has_flag(arguments, "--problem");
  std::vector<db::Session> queues =
      by_flags ? std::vector{queue_of_flags(arguments, common)} : queues_of_manifests(arguments, common);
  if (queues.empty()) return 0;
  for (db::Session& queue : queues) {
    queue.command = fmt::format("alphakernel session start {}", fmt::join(given, " "));
    queue.folder = fs::current_path().string();
  }
  const bool is_array = queues.size() > 1 || !common.array.empty();
  if (!common.slurm && (common.dry_run || is_array || !common.sbatch_options.empty()))
    fail(ExitCode::usage,
         "several manifests, --array, --dry-run and options of sbatch are for sessions that are jobs: give "
         "--slurm, too");
  if (common.slurm && common.foreground)
    fail(ExitCode::usage, "--foreground runs a session here, and --slurm elsewhere: give one of them");
  const fs::path database = common.file();
  if (is_array) return start_array(std::move(queues), database, common);
  db::Session& session = queues.front();
  if (!common.home.empty()) app::set_home(session, common.home, database);
  if (common.slurm) return start_job(std::move(session), database, common);
  db::SessionStore store(database);
  app::check_session(session, database, read_search);
  return launch(database, store.create(session), common);
}

/// `app` with the number and what `add` adds, parsed.
bool parse_numbered(CLI::App& app, const app::Arguments& arguments, Common& common, bool required) {
  set_style(app, "Sessions: docs/sessions.md\n");
  auto* number =
      add_integer(app, "number", kAnyNumber, into(common.id),
                  required ? "number of the session" : "number of the session (default: the latest)");
  if (required) number->required();
  add_database(app, common);
  return parse(app, arguments);
}

void append_array(const app::SessionArray& array, std::vector<app::StoredSession>& sessions) {
  for (int number = 1; number <= array.size; ++number)
    sessions.push_back({.database = array.database(number), .session = 1});
}

/// The session that was given, or all, else the latest, or all of an array that was started after it.
std::vector<app::StoredSession> chosen_sessions(const Common& common, bool all, db::SessionStore& store) {
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
  if (sessions.empty()) sessions.push_back({.database = database, .session = chosen(common, store)});
  return sessions;
}

int status(const app::Arguments& arguments) {
  CLI::App app{"Show the state of a session, or of those of an array.", "alphakernel session status"};
  Common common;
  bool watch = false, json = false, all = false;
  app.add_flag("--watch", watch, "wait until it has ended");
  app.add_flag("--json", json, "print one JSON object");
  app.add_flag("--all", all, "every session of the database, and of its arrays");
  if (!parse_numbered(app, arguments, common, false)) return 0;
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

/// Of a session that does not run: true where its job would have begun it.
bool stop_waiting_job(const fs::path& database, RowId id) {
  const auto job = app::job_state_of(database, id);
  if (!job || job->in_queue == false) return false;
  // A job whose state is not known does nothing when it begins.
  db::SessionStore(database).request_stop(id);
  if (!job->in_queue)
    fail(ExitCode::environment, "whether job {} of session {} waits is not known: {}", job->job, id,
         job->unknown);
  app::cancel_job(job->job);
  db::SessionStore(database).end(id, "stopped", "stopped", static_cast<int>(ExitCode::interrupted));
  fmt::print("session {}: job {} is cancelled\n", id, job->job);
  return true;
}

int stop(const app::Arguments& arguments) {
  CLI::App app{"End a session cleanly; resume continues it.", "alphakernel session stop"};
  Common common;
  double seconds = 120;
  add_quantity(app, "--wait", kSeconds, into(seconds), "seconds to wait for its end (default: 120)");
  if (!parse_numbered(app, arguments, common, true)) return 0;
  const fs::path database = common.file();
  db::SessionStore store(database, db::OpenMode::read_only);
  const db::SessionLock lock(database);
  if (!lock.is_taken(*common.id)) {
    if (stop_waiting_job(database, *common.id)) return 0;
    fmt::print("session {} does not run: it is {}\n", *common.id,
               app::session_state(store.read(*common.id), false));
    return 0;
  }
  if (!app::stop_session(database, *common.id, seconds))
    fail(ExitCode::environment, "session {} was asked to stop and has not ended after {} s", *common.id,
         seconds);
  fmt::print("{}", app::status_text(store.read(*common.id), false));
  return 0;
}

int resume(const app::Arguments& arguments) {
  CLI::App app{"Continue a session where it ended.", "alphakernel session resume"};
  Common common;
  std::string folder;
  app.add_flag("--foreground", common.foreground, "run here, and not apart from this terminal");
  app.add_option(
      "--folder", folder,
      "where the session's files are now: on another machine, to which they were copied with the database");
  if (!parse_numbered(app, arguments, common, true)) return 0;
  const fs::path database = common.file();
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
  Common common;
  if (!parse_numbered(app, arguments, common, true)) return 0;
  const fs::path database = common.file();
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
  Common common;
  bool follow = false;
  app.add_flag("--follow,-f", follow, "wait until it has ended");
  if (!parse_numbered(app, arguments, common, false)) return 0;
  const fs::path database = common.file();
  db::SessionStore store(database, db::OpenMode::read_only);
  const app::InterruptGuard interrupt;
  app::read_log(database, chosen(common, store), follow, interrupt.requested(), print_now);
  return 0;
}

/// What start_detached() starts, and a job.
int work(const app::Arguments& arguments) {
  CLI::App app{"", "alphakernel session work"};
  Common common;
  std::string pool;
  app.add_option("--pool", pool, "");
  if (!parse_numbered(app, arguments, common, true)) return 0;
  return run_here(common.file(), *common.id, pool);
}

/// What a job's script starts.
int job(const app::Arguments& arguments) {
  CLI::App app{"", "alphakernel session job"};
  Common common;
  std::string device;
  bool of_array = false;
  app.add_option("--device", device, "")->required()->check(CLI::IsMember({"cuda", "emulator"}));
  app.add_flag("--array", of_array, "");
  if (!parse_numbered(app, arguments, common, true)) return 0;
  return app::run_job(common.file(), *common.id, device == "cuda" ? DeviceKind::cuda : DeviceKind::emulator,
                      of_array);
}

int run_session(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"start", "begin one", start},
                                           Verb{"status", "show the state of one", status},
                                           Verb{"stop", "end one cleanly", stop},
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
