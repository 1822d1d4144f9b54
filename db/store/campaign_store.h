// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "db/store/session_locks.h"

namespace ak::db {

/// What a search of a campaign has come to; all but the texts are written at most once a second
/// while it runs.
struct CampaignStats {
  std::int64_t evaluations = 0, verified = 0, in_flight = 0;
  std::int64_t tokens = 0;
  double cost_usd = 0;
  std::optional<double> best_ns, baseline_ns;
  std::optional<double> limit_ns;  ///< least time that the device needs
  std::string baseline;            ///< what `baseline_ns` is of
  std::int64_t spent_ms = 0;       ///< wall time of all processes that worked at it
};

/// A search of a campaign: a row of `campaign_runs`.
struct CampaignRun {
  RowId id = 0;
  std::string name;
  std::int64_t priority = 0;
  double share = 1;
  std::vector<std::string> arguments;  ///< of the command `generate`
  std::optional<Json> first_points;    ///< chosen when it began
  Json budgets;                        ///< it was given at last; null: it has not begun
  std::string model;                   ///< that is asked; empty: none
  std::optional<RowId> session;
  bool emulated = false;         ///< its times are costs that the CPU device estimates
  std::string state = "queued";  ///< or "running", "finished", "stopped", "failed", "skipped"
  std::string reason;
  std::optional<int> exit_code;
  CampaignStats stats;

  [[nodiscard]] bool is_done() const { return state == "finished" || state == "skipped"; }
};

/// A queue of searches: a row of `campaigns`.
struct Campaign {
  RowId id = 0;
  std::string name, command;
  std::string folder;  ///< that relative paths of the arguments are in
  Json budgets;        ///< of all searches together
  std::string status;  ///< "queued", "running", "finished", "stopped", "failed"; a killed one is "running"
  std::string reason;
  std::optional<int> exit_code;
  std::string started_at, ended_at;
  std::vector<CampaignRun> runs;  ///< in the order in which they run
};

/// An evaluation that a session has committed, as far as a process that continues with it must know.
struct JournalEntry {
  RowId variant = 0, evaluation = 0;
  int iteration = 0;
  std::string status, key;
  std::optional<Json> result;  ///< nothing where nothing was evaluated
};

/// A request to a model that a session has committed.
struct JournalCall {
  RowId id = 0;
  std::string model, request;
  std::optional<LlmReply> reply;  ///< nothing where no answer came
};

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
  [[nodiscard]] std::vector<CampaignRun> runs_of(RowId campaign);
  void add_run(RowId campaign, std::int64_t position, const CampaignRun& run);

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
