// SPDX-License-Identifier: Apache-2.0
#include "db/store/campaign_store.h"

#include "db/rows.h"
#include "db/schema.h"
#include "db/store/campaign_rows.h"
#include "db/utc.h"

namespace ak::db {

CampaignStore::CampaignStore(const std::filesystem::path& file, OpenMode mode) : connection_(file, mode) {
  if (mode == OpenMode::read_only) {
    check_database(connection_, file);
    return;
  }
  prepare_database(connection_, file);
  if (select_texts(connection_, "PRAGMA journal_mode").front() != "wal")
    fail(ExitCode::database, "{} is on a network file system; a session needs one on a disk of this machine",
         file.string());
  // A figure that a crash of the machine takes back is written again a second later; what must stay is
  // written by the search's own connection, or once a search.
  connection_.execute("PRAGMA synchronous = NORMAL");
}

RowId CampaignStore::create(const Campaign& campaign) {
  Transaction transaction(connection_);
  const RowId id = put_campaign(connection_, campaign);
  transaction.commit();
  return id;
}

std::vector<RowId> CampaignStore::all() {
  return select_integers(connection_, "SELECT id FROM campaigns ORDER BY id");
}

Campaign CampaignStore::read(RowId campaign) {
  auto found = select_campaign(connection_, campaign);
  if (!found)
    fail(ExitCode::usage, "there is no session {}; see: alphakernel session status --all", campaign);
  return *std::move(found);
}

void CampaignStore::queue(RowId campaign) {
  update(connection_, "campaigns", campaign,
         {{"status", "queued"},
          {"reason", ""},
          {"exit_code", nullptr},
          {"stop_requested", 0},
          {"ended_at", nullptr}});
}

void CampaignStore::begin(RowId campaign) {
  update(connection_, "campaigns", campaign, {{"status", "running"}, {"heartbeat_at", utc_now()}});
}

void CampaignStore::end(RowId campaign, std::string_view status, std::string_view reason, int exit_code) {
  update(connection_, "campaigns", campaign,
         {{"status", status}, {"reason", reason}, {"exit_code", exit_code}, {"ended_at", utc_now()}});
}

void CampaignStore::request_stop(RowId campaign) {
  update(connection_, "campaigns", campaign, {{"stop_requested", 1}});
}

bool CampaignStore::stop_requested(RowId campaign) {
  return find(connection_, "campaigns", {{"id", campaign}, {"stop_requested", 1}}).has_value();
}

void CampaignStore::begin_run(const CampaignRun& run) { begin_campaign_run(connection_, run); }

void CampaignStore::note_stats(RowId campaign, RowId run, const CampaignStats& stats) {
  Transaction transaction(connection_);
  update(connection_, "campaigns", campaign, {{"heartbeat_at", utc_now()}});
  update_stats(connection_, run, stats);
  transaction.commit();
}

void CampaignStore::end_run(const CampaignRun& run, bool for_good) {
  Transaction transaction(connection_);
  end_campaign_run(connection_, run);
  if (for_good) delete_journal(connection_, run.id);
  transaction.commit();
}

std::vector<JournalEntry> CampaignStore::journal(RowId session) {
  return journal_entries(connection_, session);
}

std::vector<JournalCall> CampaignStore::calls(RowId session) { return journal_calls(connection_, session); }

}  // namespace ak::db
