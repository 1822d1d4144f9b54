// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_abandonment.h"

#include <algorithm>

#include "app/session/session_questions.h"
#include "core/error.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

constexpr std::string_view kWhy = "its session was given up";

}  // namespace

void abandon_session(const std::filesystem::path& database, RowId session) {
  db::SessionStore store(database);
  static_cast<void>(store.read(session));  // that there is one
  db::SessionLock lock(database);
  if (!lock.take(session))
    fail(ExitCode::usage, "session {0} is running; end it first: alphakernel session stop {0}", session);
  db::Session given_up = store.read(session);  // as whoever held the lock before has left it
  if (std::ranges::all_of(given_up.runs, &db::SessionSearch::is_done))
    fail(ExitCode::usage, "session {} is finished: there is nothing to give up", session);
  int code = 0;
  for (db::SessionSearch& run : given_up.runs) {
    if (!run.is_done()) {
      withdraw_questions(database, given_up, run, kWhy);
      run.state = "skipped";
      run.reason = kWhy;
      run.exit_code = 0;
      store.end_run(run, true);
    }
    if (code == 0) code = run.exit_code.value_or(0);
  }
  store.end(session, "finished", "given up", code);
}

}  // namespace ak::app
