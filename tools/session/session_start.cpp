// SPDX-License-Identifier: Apache-2.0
#include "tools/session/session_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "app/session/session_home.h"
#include "app/session/session_manifest.h"
#include "app/session/session_plan.h"
#include "app/session/session_process.h"
#include "app/setup/target.h"
#include "app/slurm/batch_script.h"
#include "app/slurm/session_array.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/session/session_command.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

/// What a manifest says wrong of a search is bad input of that file.
void check_as_written(const SessionCommand& common, std::size_t manifest,
                      const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage || manifest >= common.manifests.size()) throw;
    fail(ExitCode::bad_input, "{}: {}", common.manifests[manifest], error.what());
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
  app::check_session(here, database, read_search, app::EvaluatedBy::workers_of_a_job);
  for (std::size_t i = 0; i < session.runs.size(); ++i) session.runs[i].model = here.runs[i].model;
}

int start_job(db::Session session, const fs::path& database, const SessionCommand& common) {
  app::check_sbatch_options(common.sbatch_options);
  const DeviceKind kind = app::take_devices(session);
  db::SessionStore store(database);
  check_as_written(common, 0, [&] { check_job(session, database, kind); });
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
                 const SessionCommand& common) {
  if (!common.json) {
    fmt::print(
        "{0} sessions are the array {1} of Slurm; session 1 of {2}/N.db is its job {1}_N\n"
        "  alphakernel session status --db {3}    # of all of them\n"
        "  alphakernel session log 1 --db {2}/1.db\n"
        "  alphakernel session stop --db {3} --array {5}\n"
        "When they end they are merged into {4}\n",
        array.size, job, array.folder.string(), common.file().string(), home.string(), array.number);
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
DeviceKind check_jobs(std::vector<db::Session>& queues, const fs::path& database,
                      const SessionCommand& common) {
  std::optional<DeviceKind> kind;
  for (db::Session& queue : queues) {
    const DeviceKind wanted = app::take_devices(queue);
    if (kind && *kind != wanted)
      fail(ExitCode::usage,
           "{}: one array has the CPU device or GPUs, and its other manifests want the other", queue.name);
    kind = wanted;
    check_as_written(common, static_cast<std::size_t>(&queue - queues.data()),
                     [&] { check_job(queue, database, wanted); });
  }
  return *kind;
}

int start_array(std::vector<db::Session> queues, const fs::path& database, const SessionCommand& common) {
  app::check_sbatch_options(common.sbatch_options);
  const app::ArrayWish wish = common.array.empty() ? app::ArrayWish{} : app::array_wish_from(common.array);
  const std::size_t size = queues.size() * static_cast<std::size_t>(wish.repeats);
  if (size > app::kMostArrayJobs)
    fail(ExitCode::usage, "{} jobs of an array, where {} are allowed", size, app::kMostArrayJobs);
  static_cast<void>(db::SessionStore(database));  // where `session status` looks for them
  const DeviceKind kind = check_jobs(queues, database, common);
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
db::Session queue_of_flags(app::Arguments arguments, SessionCommand& common) {
  common.foreground = take_flag(arguments, "--foreground");
  common.slurm = take_flag(arguments, "--slurm");
  common.dry_run = take_flag(arguments, "--dry-run");
  common.home = app::take_option(arguments, "--merge-into");
  common.array = app::take_option(arguments, "--array");
  common.database = app::take_option(arguments, "--db");
  common.json = take_flag(arguments, "--json");
  std::string folder = app::take_option(arguments, "--output-folder");
  std::string output = app::take_option(arguments, "-o");
  // With a manifest -o is the folder, and for `generate` the file.
  if (!output.empty() && !output.ends_with(".cu")) folder = std::exchange(output, "");
  if (!output.empty()) arguments.push_back("--output=" + output);
  db::Session session = app::one_search(std::move(arguments));
  app::Arguments& own = session.runs.front().arguments;
  if (!folder.empty() && app::has_flag(own, "--output"))
    fail(ExitCode::usage, "--output names the file, and --output-folder its folder: give one of them");
  if (!app::has_flag(own, "--output"))
    own.push_back("--output=" + (fs::path(folder) / (session.name + ".cu")).string());
  return session;
}

/// Of each manifest its queue; none where help was asked for.
std::vector<db::Session> queues_of_manifests(const app::Arguments& arguments, SessionCommand& common) {
  CLI::App app{"Run the searches of a manifest, or one search with the flags of `generate`.",
               "alphakernel session start"};
  set_style(app,
            "Examples:\n  alphakernel session start night.json\n"
            "  alphakernel session start --algorithm softmax --arch h200 --max-minutes 60   # no manifest\n"
            "Manifests: docs/sessions.md\n");
  std::string outputs = ".";
  app.add_option(
      "manifest", common.manifests,
      "a JSON file (docs/sessions.md); with --slurm several, a job each; none where --algorithm or "
      "--problem and other flags of `generate` describe one search");
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
  if (common.manifests.empty())
    fail(ExitCode::usage,
         "name a manifest, or the search with --algorithm or --problem and the flags of generate");
  for (const std::string& manifest : common.manifests)
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

}  // namespace

int start_session(const app::Arguments& given) {
  SessionCommand common;
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
  check_as_written(common, 0, [&] { app::check_session(session, database, read_search); });
  return launch(database, store.create(session), common);
}

}  // namespace ak::tools
