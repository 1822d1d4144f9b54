// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "db/sqlite.h"
#include "db/store/campaign.h"
#include "db/store/journal_rows.h"
#include "db/store/session_locks.h"

namespace ak::db {

/// The queues of one database. An object belongs to one thread. Throws Error(database).
class CampaignStore {
 public:
  explicit CampaignStore(const std::filesystem::path& file, OpenMode mode = OpenMode::create);

  /// Adds it, as queued. Ids, states and figures are not looked at.
  RowId create(const Campaign& campaign);
  /// It is to go on.
  void queue(RowId campaign);
  [[nodiscard]] std::vector<RowId> all();
  /// Throws Error(usage) when there is none of this number.
  [[nodiscard]] Campaign read(RowId campaign);
  void begin(RowId campaign);
  void end(RowId campaign, std::string_view status, std::string_view reason, int exit_code);
  void request_stop(RowId campaign);
  [[nodiscard]] bool stop_requested(RowId campaign);

  void begin_run(const CampaignRun& run);
  void note_stats(RowId campaign, RowId run, const CampaignStats& stats);
  /// With `for_good` its journal is dropped.
  void end_run(const CampaignRun& run, bool for_good);

  /// What is kept of a session, in the order in which it was committed.
  [[nodiscard]] std::vector<JournalEntry> journal(RowId session);
  [[nodiscard]] std::vector<JournalCall> calls(RowId session);

 private:
  Connection connection_;
};

/// Held by the process that runs a campaign; the system drops it with the process however it ends.
class CampaignLock {
 public:
  explicit CampaignLock(const std::filesystem::path& database) : locks_(database) {}
  /// False when another process has it.
  [[nodiscard]] bool take(RowId campaign) { return locks_.try_hold(kFirstByte + campaign); }
  /// Another process, or object, has it.
  [[nodiscard]] bool is_taken(RowId campaign) const { return locks_.is_held(kFirstByte + campaign); }

 private:
  static constexpr RowId kFirstByte = RowId{1} << 40;  // behind those of sessions, which are fewer
  SessionLocks locks_;
};

}  // namespace ak::db
