// SPDX-License-Identifier: Apache-2.0
#include "db/store/campaign_store.h"

#include <algorithm>

#include "core/text/hash.h"
#include "db/schema.h"
#include "db/utc.h"

namespace ak::db {
namespace {

// Rows of a campaign as they were begun; the order of columns is that of campaign_of() and run_of().
constexpr const char* kCampaign =
    "SELECT id, name, command, folder, budgets, status, reason, exit_code, started_at, ended_at FROM "
    "campaigns WHERE id = ?";
constexpr const char* kRuns =
    "SELECT id, name, priority, share, arguments, first_points, budgets, session_id, state, reason, "
    "exit_code, evaluations, verified, in_flight, tokens, cost_usd, best_ns, baseline, baseline_ns, "
    "limit_ns, spent_ms, model, (SELECT d.kind FROM sessions s JOIN devices d ON d.id = s.device_id WHERE "
    "s.id = session_id) FROM campaign_runs WHERE campaign_id = ? ORDER BY position";
constexpr const char* kJournal =
    "SELECT e.variant_id, e.id, p.iteration, e.status, j.request_key, j.result FROM journal j JOIN "
    "evaluations e ON e.id = j.evaluation_id JOIN proposals p ON p.id = e.proposal_id WHERE e.session_id = ? "
    "ORDER BY e.id";
// One that was cancelled was asked without success, and is asked again.
constexpr const char* kCalls =
    "SELECT id, request, status, answer, message, stop, input_tokens, cached_tokens, output_tokens, "
    "tokens_reported, cost_usd, attempts, provider_request, model FROM llm_calls WHERE session_id = ? AND "
    "status <> "
    "'cancelled' ORDER BY id";

bool is_null(const Statement& row, int column) { return !row.real(column); }

std::optional<std::int64_t> count(const Statement& row, int column) {
  return is_null(row, column) ? std::nullopt : std::optional(row.integer(column));
}

std::optional<int> code(const Statement& row, int column) {
  const auto value = count(row, column);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

Json json_or_null(const Statement& row, int column) {
  const std::string text = row.text(column);
  return text.empty() ? Json() : parse_json(text);
}

CampaignStats stats_of(const Statement& row) {
  return {.evaluations = row.integer(11),
          .verified = row.integer(12),
          .in_flight = row.integer(13),
          .tokens = row.integer(14),
          .cost_usd = row.real(15).value_or(0),
          .best_ns = row.real(16),
          .baseline_ns = row.real(18),
          .limit_ns = row.real(19),
          .baseline = row.text(17),
          .spent_ms = row.integer(20)};
}

CampaignRun run_of(const Statement& row) {
  CampaignRun run{.id = row.integer(0),
                  .name = row.text(1),
                  .priority = row.integer(2),
                  .share = row.real(3).value_or(1),
                  .arguments = parse_json(row.text(4)).get<std::vector<std::string>>(),
                  .first_points = {},
                  .budgets = json_or_null(row, 6),
                  .model = row.text(21),
                  .session = count(row, 7),
                  .emulated = row.text(22) == "emulator",
                  .state = row.text(8),
                  .reason = row.text(9),
                  .exit_code = code(row, 10),
                  .stats = stats_of(row)};
  if (!is_null(row, 5)) run.first_points = parse_json(row.text(5));
  return run;
}

std::optional<LlmReply> reply_of(const Statement& row) {
  const std::string status = row.text(2);
  if (status == "sent") return std::nullopt;
  LlmReply reply{.text = row.text(3),
                 .stop = parse_llm_stop(row.text(5)),
                 .usage = {.input_tokens = row.integer(6),
                           .cached_tokens = row.integer(7),
                           .output_tokens = row.integer(8),
                           .reported = row.integer(9) != 0},
                 .cost_usd = row.real(10),
                 .request_id = row.text(12),
                 .attempts = static_cast<int>(row.integer(11))};
  if (const auto fault = parse_llm_fault(status)) reply.failure = LlmFailure{*fault, row.text(4)};
  return reply;
}

}  // namespace

CampaignStore::CampaignStore(const std::filesystem::path& file, OpenMode mode) : connection_(file, mode) {
  if (mode == OpenMode::create) {
    prepare_database(connection_, file);
    auto& mode_row = connection_.prepare("PRAGMA journal_mode");
    const bool shared = mode_row.step() && mode_row.text(0) == "wal";
    mode_row.reset();
    if (!shared)
      fail(ExitCode::database,
           "{} is on a network file system; a session needs one on a disk of this machine", file.string());
    // A figure that a crash of the machine takes back is written again a second later; what must stay is
    // written by the search's own connection, or once a search.
    connection_.execute("PRAGMA synchronous = NORMAL");
  } else {
    check_database(connection_, file);
  }
}

RowId CampaignStore::create(const Campaign& campaign) {
  Transaction transaction(connection_);
  const auto uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO campaigns (uid, name, command, folder, budgets, status, reason, stop_requested, "
          "started_at) VALUES (?,?,?,?,?,'queued','',0,?)")
      .bind(1, Blob(uid))
      .bind(2, campaign.name)
      .bind(3, campaign.command)
      .bind(4, campaign.folder)
      .bind(5, campaign.budgets.dump())
      .bind(6, utc_now())
      .run();
  const RowId id = connection_.last_row_id();
  for (std::size_t i = 0; i < campaign.runs.size(); ++i)
    add_run(id, static_cast<std::int64_t>(i), campaign.runs[i]);
  transaction.commit();
  return id;
}

void CampaignStore::add_run(RowId campaign, std::int64_t position, const CampaignRun& run) {
  const auto uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO campaign_runs (uid, campaign_id, position, name, priority, share, arguments, model, "
          "state, reason, evaluations, verified, in_flight, tokens, cost_usd, spent_ms) VALUES "
          "(?,?,?,?,?,?,?,?,'queued','',0,0,0,0,0,0)")
      .bind(1, Blob(uid))
      .bind(2, campaign)
      .bind(3, position)
      .bind(4, run.name)
      .bind(5, run.priority)
      .bind(6, run.share)
      .bind(7, Json(run.arguments).dump())
      .bind(8, run.model.empty() ? std::nullopt : std::optional(run.model))
      .run();
}

std::vector<RowId> CampaignStore::all() {
  std::vector<RowId> ids;
  auto& rows = connection_.prepare("SELECT id FROM campaigns ORDER BY id");
  while (rows.step()) ids.push_back(rows.integer(0));
  rows.reset();
  return ids;
}

Campaign CampaignStore::read(RowId id) {
  auto& row = connection_.prepare(kCampaign).bind(1, id);
  if (!row.step()) {
    row.reset();
    fail(ExitCode::usage, "there is no session {}; see: alphakernel session status --all", id);
  }
  Campaign campaign{.id = row.integer(0),
                    .name = row.text(1),
                    .command = row.text(2),
                    .folder = row.text(3),
                    .budgets = json_or_null(row, 4),
                    .status = row.text(5),
                    .reason = row.text(6),
                    .exit_code = code(row, 7),
                    .started_at = row.text(8),
                    .ended_at = row.text(9),
                    .runs = {}};
  row.reset();
  campaign.runs = runs_of(id);
  return campaign;
}

std::vector<CampaignRun> CampaignStore::runs_of(RowId campaign) {
  std::vector<CampaignRun> runs;
  auto& rows = connection_.prepare(kRuns).bind(1, campaign);
  while (rows.step()) runs.push_back(run_of(rows));
  rows.reset();
  return runs;
}

void CampaignStore::queue(RowId campaign) {
  connection_
      .prepare(
          "UPDATE campaigns SET status = 'queued', reason = '', exit_code = NULL, stop_requested = 0, "
          "ended_at = NULL WHERE id = ?")
      .bind(1, campaign)
      .run();
}

void CampaignStore::begin(RowId campaign) {
  connection_.prepare("UPDATE campaigns SET status = 'running', heartbeat_at = ? WHERE id = ?")
      .bind(1, utc_now())
      .bind(2, campaign)
      .run();
}

void CampaignStore::end(RowId campaign, std::string_view status, std::string_view reason, int exit_code) {
  connection_.prepare("UPDATE campaigns SET status = ?, reason = ?, exit_code = ?, ended_at = ? WHERE id = ?")
      .bind(1, status)
      .bind(2, reason)
      .bind(3, exit_code)
      .bind(4, utc_now())
      .bind(5, campaign)
      .run();
}

void CampaignStore::request_stop(RowId campaign) {
  connection_.prepare("UPDATE campaigns SET stop_requested = 1 WHERE id = ?").bind(1, campaign).run();
}

bool CampaignStore::stop_requested(RowId campaign) {
  auto& row = connection_.prepare("SELECT stop_requested FROM campaigns WHERE id = ?").bind(1, campaign);
  const bool wanted = row.step() && row.integer(0) != 0;
  row.reset();
  return wanted;
}

void CampaignStore::begin_run(const CampaignRun& run) {
  connection_
      .prepare(
          "UPDATE campaign_runs SET state = 'running', reason = '', exit_code = NULL, first_points = ?, "
          "budgets = ?, limit_ns = ? WHERE id = ?")
      .bind(1, run.first_points ? std::optional(run.first_points->dump()) : std::nullopt)
      .bind(2, run.budgets.dump())
      .bind(3, run.stats.limit_ns)
      .bind(4, run.id)
      .run();
}

void CampaignStore::note_stats(RowId campaign, RowId run, const CampaignStats& stats) {
  Transaction transaction(connection_);
  connection_.prepare("UPDATE campaigns SET heartbeat_at = ? WHERE id = ?")
      .bind(1, utc_now())
      .bind(2, campaign)
      .run();
  connection_
      .prepare(
          "UPDATE campaign_runs SET evaluations = ?, verified = ?, in_flight = ?, tokens = ?, cost_usd = ?, "
          "best_ns = ?, baseline = ?, baseline_ns = ?, spent_ms = ? WHERE id = ?")
      .bind(1, stats.evaluations)
      .bind(2, stats.verified)
      .bind(3, stats.in_flight)
      .bind(4, stats.tokens)
      .bind(5, stats.cost_usd)
      .bind(6, stats.best_ns)
      .bind(7, stats.baseline.empty() ? std::nullopt : std::optional(stats.baseline))
      .bind(8, stats.baseline_ns)
      .bind(9, stats.spent_ms)
      .bind(10, run)
      .run();
  transaction.commit();
}

void CampaignStore::end_run(const CampaignRun& run, bool for_good) {
  Transaction transaction(connection_);
  connection_
      .prepare("UPDATE campaign_runs SET state = ?, reason = ?, exit_code = ?, in_flight = 0 WHERE id = ?")
      .bind(1, run.state)
      .bind(2, run.reason)
      .bind(3, run.exit_code ? std::optional<std::int64_t>(*run.exit_code) : std::nullopt)
      .bind(4, run.id)
      .run();
  if (for_good) {
    connection_
        .prepare(
            "DELETE FROM journal WHERE evaluation_id IN (SELECT e.id FROM evaluations e JOIN "
            "campaign_runs r ON r.session_id = e.session_id WHERE r.id = ?)")
        .bind(1, run.id)
        .run();
  }
  transaction.commit();
}

std::vector<JournalEntry> CampaignStore::journal(RowId session) {
  std::vector<JournalEntry> entries;
  auto& rows = connection_.prepare(kJournal).bind(1, session);
  while (rows.step()) {
    const std::string result = rows.text(5);
    entries.push_back({.variant = rows.integer(0),
                       .evaluation = rows.integer(1),
                       .iteration = static_cast<int>(rows.integer(2)),
                       .status = rows.text(3),
                       .key = rows.text(4),
                       .result = result.empty() ? std::nullopt : std::optional(parse_json(result))});
  }
  rows.reset();
  return entries;
}

std::vector<JournalCall> CampaignStore::calls(RowId session) {
  std::vector<JournalCall> calls;
  auto& rows = connection_.prepare(kCalls).bind(1, session);
  while (rows.step())
    calls.push_back(
        {.id = rows.integer(0), .model = rows.text(13), .request = rows.text(1), .reply = reply_of(rows)});
  rows.reset();
  return calls;
}

}  // namespace ak::db
