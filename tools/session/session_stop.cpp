// SPDX-License-Identifier: Apache-2.0
#include "tools/session/session_stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "app/session/session_process.h"
#include "app/session/session_status.h"
#include "app/slurm/session_array.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "db/store/session_store.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "tools/session/session_command.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

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

/// @param wait_s for its end
void stop_one(const fs::path& database, RowId id, double wait_s) {
  db::SessionStore store(database, db::OpenMode::read_only);
  const db::SessionLock lock(database);
  if (!lock.is_taken(id)) {
    if (stop_waiting_job(database, id)) return;
    fmt::print("session {} does not run: it is {}\n", id, app::session_state(store.read(id), false));
    return;
  }
  if (!app::stop_session(database, id, wait_s))
    fail(ExitCode::environment, "session {} was asked to stop and has not ended after {} s", id, wait_s);
  fmt::print("{}", app::status_text(store.read(id), false));
}

app::SessionArray find_array(const fs::path& database, RowId number) {
  const std::vector<app::SessionArray> arrays = app::arrays_of(database);
  if (number < 1 || number > static_cast<RowId>(arrays.size()))
    fail(ExitCode::usage, "{} has {} arrays of sessions, and no array {}", database.string(), arrays.size(),
         number);
  return arrays[static_cast<std::size_t>(number - 1)];
}

/// All are asked before one is waited for; what one of them says against it keeps no other from its end.
int stop_all(const app::SessionArray& array, double wait_s) {
  const auto begin = steady_clock::now();
  int exit_code = 0;
  const auto each = [&](auto act) {
    for (int number = 1; number <= array.size; ++number) {
      const fs::path database = array.database(number);
      try {
        act(database);
      } catch (const Error& error) {
        fmt::print(stderr, "{}: {}\n", database.string(), error.what());
        exit_code = static_cast<int>(error.code());
      }
    }
  };
  each([](const fs::path& database) {
    if (db::SessionLock(database).is_taken(1)) db::SessionStore(database).request_stop(1);
  });
  each([&](const fs::path& database) {
    const std::chrono::duration<double> waited = steady_clock::now() - begin;
    fmt::print("{}: ", database.string());
    stop_one(database, 1, std::max(0.0, wait_s - waited.count()));
  });
  return exit_code;
}

}  // namespace

int stop_session(const app::Arguments& arguments) {
  CLI::App app{"End a session cleanly, or those of an array; resume continues it.",
               "alphakernel session stop"};
  SessionCommand common;
  double wait_s = 120;
  std::optional<RowId> array;
  add_quantity(app, "--wait", kSeconds, into(wait_s), "seconds to wait for its end (default: 120)");
  add_integer(app, "--array", kAnyNumber, into(array),
              "instead: all sessions of this array, the N of DATABASE-array-N");
  if (!parse_numbered(app, arguments, common, NoNumber::other)) return 0;
  if (common.id.has_value() == array.has_value())
    fail(ExitCode::usage, "give the number of a session, or --array with that of an array");
  if (array) return stop_all(find_array(common.file(), *array), wait_s);
  stop_one(common.file(), *common.id, wait_s);
  return 0;
}

}  // namespace ak::tools
