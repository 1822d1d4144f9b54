// SPDX-License-Identifier: Apache-2.0
#include "db/store/session_store.h"

#include "db/rows.h"
#include "db/schema.h"
#include "db/store/queue_rows.h"
#include "db/store/search_rows.h"
#include "db/upgrade.h"
#include "db/utc.h"

namespace ak::db {

SessionStore::SessionStore(const std::filesystem::path& file, OpenMode mode)
    : connection_(mode == OpenMode::read_only ? open_to_read(file) : Connection(file, mode)) {
  if (mode == OpenMode::read_only) return;
  prepare_database(connection_, file);
  if (select_texts(connection_, "PRAGMA journal_mode").front() != "wal")
    fail(ExitCode::database, "{} is on a network file system; a session needs one on a disk of this machine",
         file.string());
  // A figure that a crash of the machine takes back is written again a second later; what must stay is
  // written by the search's own connection, or once a search.
  connection_.execute("PRAGMA synchronous = NORMAL");
}

RowId SessionStore::create(const Session& session) {
  Transaction transaction(connection_);
  const RowId id = put_session(connection_, session);
  transaction.commit();
  return id;
}

void SessionStore::move(const Session& session, const std::vector<RenamedModel>& models) {
  Transaction transaction(connection_);
  update(connection_, "sessions", session.id, {{"folder", session.folder}});
  for (const SessionSearch& run : session.runs)
    update(connection_, "session_searches", run.id, {{"arguments", Json(run.arguments).dump()}});
  rename_models(connection_, models);
  transaction.commit();
}

std::vector<RowId> SessionStore::all() {
  return select_integers(connection_, "SELECT id FROM sessions ORDER BY started_at, id");
}

std::string SessionStore::uid(RowId session) {
  return select_texts(connection_, "SELECT lower(hex(uid)) FROM sessions WHERE id = :session",
                      {{"session", session}})
      .at(0);
}

std::optional<RowId> SessionStore::find_uid(const std::string& uid) {
  return select_integer(connection_, "SELECT id FROM sessions WHERE lower(hex(uid)) = :uid", {{"uid", uid}});
}

Session SessionStore::read(RowId session) {
  auto found = select_session(connection_, session);
  if (!found) fail(ExitCode::usage, "there is no session {}; see: alphakernel session status --all", session);
  return *std::move(found);
}

void SessionStore::queue(RowId session) {
  update(connection_, "sessions", session,
         {{"status", "queued"},
          {"reason", ""},
          {"exit_code", nullptr},
          {"stop_requested", 0},
          {"ended_at", nullptr}});
}

void SessionStore::begin(RowId session) {
  update(connection_, "sessions", session,
         {{"status", "running"},
          {"reason", ""},
          {"exit_code", nullptr},
          {"ended_at", nullptr},
          {"heartbeat_at", utc_now()}});
}

void SessionStore::end(RowId session, std::string_view status, std::string_view reason, int exit_code) {
  update(connection_, "sessions", session,
         {{"status", status}, {"reason", reason}, {"exit_code", exit_code}, {"ended_at", utc_now()}});
}

void SessionStore::request_stop(RowId session) {
  update(connection_, "sessions", session, {{"stop_requested", 1}});
}

bool SessionStore::stop_requested(RowId session) {
  return find(connection_, "sessions", {{"id", session}, {"stop_requested", 1}}).has_value();
}

void SessionStore::add_round(const SessionSearch& run, const SessionRound& round) {
  Transaction transaction(connection_);
  put_round(connection_, run.id, round);
  transaction.commit();
}

void SessionStore::begin_run(const SessionSearch& run) { begin_session_run(connection_, run); }

void SessionStore::note_stats(RowId session, RowId run, const SessionSearchStats& stats) {
  Transaction transaction(connection_);
  update(connection_, "sessions", session, {{"heartbeat_at", utc_now()}});
  update_stats(connection_, run, stats);
  transaction.commit();
}

void SessionStore::end_run(const SessionSearch& run, bool for_good) {
  Transaction transaction(connection_);
  end_session_run(connection_, run);
  if (for_good) delete_journal(connection_, run.id);
  if (for_good && run.search) close_suspended_search(connection_, *run.search, run.reason);
  transaction.commit();
}

std::vector<JournalEntry> SessionStore::journal(RowId search) { return journal_entries(connection_, search); }

std::vector<JournalCall> SessionStore::calls(RowId search) { return journal_calls(connection_, search); }

}  // namespace ak::db
