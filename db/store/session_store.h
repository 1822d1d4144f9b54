// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/process_locks.h"
#include "db/sqlite.h"
#include "db/store/journal_rows.h"
#include "db/store/session.h"

namespace ak::db {

/// The queues of one database. An object belongs to one thread. Throws Error(database).
class SessionStore {
 public:
  explicit SessionStore(const std::filesystem::path& file, OpenMode mode = OpenMode::create);

  /// Adds it, as queued. Ids, states and figures are not looked at.
  RowId create(const Session& session);
  /// It is to continue.
  void queue(RowId session);
  /// Its files are elsewhere now: `session.folder`, and the arguments of its searches. What its searches keep of
  /// `models` has their new names.
  void move(const Session& session, const std::vector<RenamedModel>& models);
  [[nodiscard]] std::vector<RowId> all();
  /// What tells it apart in every database: 32 hexadecimal digits. Numbers are those of one database.
  [[nodiscard]] std::string uid(RowId session);
  /// The number here of the session with that uid; nothing where this database has none.
  [[nodiscard]] std::optional<RowId> find_uid(const std::string& uid);
  /// Throws Error(usage) when there is none of this number.
  [[nodiscard]] Session read(RowId session);
  void begin(RowId session);
  void end(RowId session, std::string_view status, std::string_view reason, int exit_code);
  void request_stop(RowId session);
  [[nodiscard]] bool stop_requested(RowId session);

  /// The search is to go on with what it is given now; it is queued.
  void add_round(const SessionSearch& run, const SessionRound& round);
  void begin_run(const SessionSearch& run);
  void note_stats(RowId session, RowId run, const SessionSearchStats& stats);
  /// With `for_good` its journal is dropped, and a search that waits for answers does so no more.
  void end_run(const SessionSearch& run, bool for_good);

  /// What is kept of a search, in the order in which it was committed.
  [[nodiscard]] std::vector<JournalEntry> journal(RowId search);
  [[nodiscard]] std::vector<JournalCall> calls(RowId search);

 private:
  Connection connection_;
};

/// Held by the process that runs a session; the system drops it with the process however it ends.
class SessionLock {
 public:
  explicit SessionLock(const std::filesystem::path& database) : locks_(database) {}
  /// False when another process has it.
  [[nodiscard]] bool take(RowId session) { return locks_.try_hold(kFirstByte + session); }
  /// Another process, or object, has it.
  [[nodiscard]] bool is_taken(RowId session) const { return locks_.is_held(kFirstByte + session); }

 private:
  static constexpr RowId kFirstByte = RowId{1} << 40;  // behind those of searches, which are fewer
  ProcessLocks locks_;
};

}  // namespace ak::db
