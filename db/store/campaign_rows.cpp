// SPDX-License-Identifier: Apache-2.0
#include "db/store/campaign_rows.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

constexpr const char* kCampaign =
    "SELECT id, name, command, folder, budgets, status, reason, exit_code, started_at, ended_at "
    "FROM campaigns WHERE id = :campaign";
constexpr const char* kRuns = R"sql(
SELECT id, name, priority, share, arguments, first_points, budgets, session_id, state, reason, exit_code, evaluations,
       verified, in_flight, tokens, cost_usd, best_ns, baseline, baseline_ns, limit_ns, spent_ms, model,
       (SELECT d.kind FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = session_id) AS device_kind
FROM campaign_runs WHERE campaign_id = :campaign ORDER BY position)sql";

Json json_or_null(const std::string& text) { return text.empty() ? Json() : parse_json(text); }

CampaignStats stats_of(const Rows& row) {
  return {.evaluations = row.integer("evaluations"),
          .verified = row.integer("verified"),
          .in_flight = row.integer("in_flight"),
          .tokens = row.integer("tokens"),
          .cost_usd = row.real("cost_usd").value_or(0),
          .best_ns = row.real("best_ns"),
          .baseline_ns = row.real("baseline_ns"),
          .limit_ns = row.real("limit_ns"),
          .baseline = row.text("baseline"),
          .spent_ms = row.integer("spent_ms")};
}

CampaignRun run_of(const Rows& row) {
  CampaignRun run{.id = row.integer("id"),
                  .name = row.text("name"),
                  .priority = row.integer("priority"),
                  .share = row.real("share").value_or(1),
                  .arguments = parse_json(row.text("arguments")).get<std::vector<std::string>>(),
                  .first_points = {},
                  .budgets = json_or_null(row.text("budgets")),
                  .model = row.text("model"),
                  .session = row.known_integer("session_id"),
                  .emulated = row.text("device_kind") == "emulator",
                  .state = row.text("state"),
                  .reason = row.text("reason"),
                  .exit_code = row.known_integer<int>("exit_code"),
                  .stats = stats_of(row)};
  if (!row.is_null("first_points")) run.first_points = parse_json(row.text("first_points"));
  return run;
}

void put_run(Connection& connection, RowId campaign, std::size_t position, const CampaignRun& run) {
  insert(connection, "campaign_runs",
         {{"uid", random_uid()},
          {"campaign_id", campaign},
          {"position", static_cast<std::int64_t>(position)},
          {"name", run.name},
          {"priority", run.priority},
          {"share", run.share},
          {"arguments", Json(run.arguments).dump()},
          {"model", not_empty(run.model)},
          {"state", "queued"},
          {"reason", ""},
          {"evaluations", 0},
          {"verified", 0},
          {"in_flight", 0},
          {"tokens", 0},
          {"cost_usd", 0.0},
          {"spent_ms", 0}});
}

}  // namespace

RowId put_campaign(Connection& connection, const Campaign& campaign) {
  const RowId id = insert(connection, "campaigns",
                          {{"uid", random_uid()},
                           {"name", campaign.name},
                           {"command", campaign.command},
                           {"folder", campaign.folder},
                           {"budgets", campaign.budgets.dump()},
                           {"status", "queued"},
                           {"reason", ""},
                           {"stop_requested", 0},
                           {"started_at", utc_now()}});
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) put_run(connection, id, i, campaign.runs[i]);
  return id;
}

std::optional<Campaign> select_campaign(Connection& connection, RowId campaign) {
  Rows row = select(connection, kCampaign, {{"campaign", campaign}});
  if (!row.next()) return std::nullopt;
  Campaign found{.id = row.integer("id"),
                 .name = row.text("name"),
                 .command = row.text("command"),
                 .folder = row.text("folder"),
                 .budgets = json_or_null(row.text("budgets")),
                 .status = row.text("status"),
                 .reason = row.text("reason"),
                 .exit_code = row.known_integer<int>("exit_code"),
                 .started_at = row.text("started_at"),
                 .ended_at = row.text("ended_at"),
                 .runs = {}};
  Rows runs = select(connection, kRuns, {{"campaign", campaign}});
  while (runs.next()) found.runs.push_back(run_of(runs));
  return found;
}

void begin_campaign_run(Connection& connection, const CampaignRun& run) {
  update(connection, "campaign_runs", run.id,
         {{"state", "running"},
          {"reason", ""},
          {"exit_code", nullptr},
          {"first_points", run.first_points ? std::optional(run.first_points->dump()) : std::nullopt},
          {"budgets", run.budgets.dump()},
          {"limit_ns", run.stats.limit_ns}});
}

void update_stats(Connection& connection, RowId run, const CampaignStats& stats) {
  update(connection, "campaign_runs", run,
         {{"evaluations", stats.evaluations},
          {"verified", stats.verified},
          {"in_flight", stats.in_flight},
          {"tokens", stats.tokens},
          {"cost_usd", stats.cost_usd},
          {"best_ns", stats.best_ns},
          {"baseline", not_empty(stats.baseline)},
          {"baseline_ns", stats.baseline_ns},
          {"spent_ms", stats.spent_ms}});
}

void end_campaign_run(Connection& connection, const CampaignRun& run) {
  update(connection, "campaign_runs", run.id,
         {{"state", run.state}, {"reason", run.reason}, {"exit_code", run.exit_code}, {"in_flight", 0}});
}

}  // namespace ak::db
