// SPDX-License-Identifier: Apache-2.0
#include "db/store/queue_rows.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/hash.h"
#include "core/text/json.h"
#include "db/rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

constexpr const char* kSession =
    "SELECT id, name, command, folder, budgets, status, reason, exit_code, started_at, ended_at "
    "FROM sessions WHERE id = :session";
constexpr const char* kRuns = R"sql(
SELECT id, name, priority, share, arguments, first_points, budgets, search_id, state, reason, exit_code, evaluations,
       verified, in_flight, tokens, cost_usd, best_ns, baseline, baseline_ns, limit_ns, spent_ms, model,
       NOT EXISTS (SELECT 1 FROM spend x WHERE x.search = session_searches.search_id AND x.unpriced_calls > 0) AS price_known,
       (SELECT s.verdict FROM searches s WHERE s.id = search_id) AS verdict,
       (SELECT d.kind FROM searches s JOIN devices d ON d.id = s.device_id WHERE s.id = search_id) AS device_kind
FROM session_searches WHERE session_id = :session ORDER BY position)sql";

constexpr const char* kRounds = R"sql(
SELECT number, evaluations, minutes, closes, best_ns, why FROM session_rounds WHERE session_search_id = :run ORDER BY number)sql";
constexpr const char* kGain = R"sql(
SELECT expected_gain, low_gain, high_gain FROM verdicts WHERE search_id = :search ORDER BY evaluations DESC LIMIT 1)sql";

Json json_or_null(const std::string& text) { return text.empty() ? Json() : parse_json(text); }

SessionSearchStats stats_of(const Rows& row) {
  return {.evaluations = row.integer("evaluations"),
          .verified = row.integer("verified"),
          .in_flight = row.integer("in_flight"),
          .tokens = row.integer("tokens"),
          .cost_usd = row.real("cost_usd").value_or(0),
          .price_known = row.flag("price_known"),
          .best_ns = row.real("best_ns"),
          .baseline_ns = row.real("baseline_ns"),
          .limit_ns = row.real("limit_ns"),
          .baseline = row.text("baseline"),
          .spent_ms = row.integer("spent_ms")};
}

SessionSearch run_of(const Rows& row) {
  SessionSearch run{.id = row.integer("id"),
                    .name = row.text("name"),
                    .priority = row.integer("priority"),
                    .share = row.real("share").value_or(1),
                    .arguments = parse_json(row.text("arguments")).get<std::vector<std::string>>(),
                    .first_points = {},
                    .budgets = json_or_null(row.text("budgets")),
                    .model = row.text("model"),
                    .search = row.known_integer("search_id"),
                    .emulated = row.text("device_kind") == "emulator",
                    .state = row.text("state"),
                    .reason = row.text("reason"),
                    .exit_code = row.known_integer<int>("exit_code"),
                    .stats = stats_of(row),
                    .rounds = {},
                    .gain = {},
                    .verdict = row.text("verdict")};
  if (!row.is_null("first_points")) run.first_points = parse_json(row.text("first_points"));
  return run;
}

std::vector<SessionRound> rounds_of(Connection& connection, RowId run) {
  std::vector<SessionRound> rounds;
  Rows row = select(connection, kRounds, {{"run", run}});
  while (row.next())
    rounds.push_back({.number = row.integer("number"),
                      .evaluations = row.known_integer("evaluations"),
                      .minutes = row.real("minutes"),
                      .closes = row.flag("closes"),
                      .best_ns = row.real("best_ns"),
                      .why = row.text("why")});
  return rounds;
}

std::optional<RemainingGain> last_gain(Connection& connection, RowId search) {
  Rows row = select(connection, kGain, {{"search", search}});
  if (!row.next()) return std::nullopt;
  return RemainingGain{.expected = row.real("expected_gain").value_or(0),
                       .low = row.real("low_gain").value_or(0),
                       .high = row.real("high_gain").value_or(0)};
}

void put_run(Connection& connection, RowId session, std::size_t position, const SessionSearch& run) {
  insert(connection, "session_searches",
         {{"uid", random_uid()},
          {"session_id", session},
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

RowId put_session(Connection& connection, const Session& session) {
  const RowId id = insert(connection, "sessions",
                          {{"uid", random_uid()},
                           {"name", session.name},
                           {"command", session.command},
                           {"folder", session.folder},
                           {"budgets", session.budgets.dump()},
                           {"status", "queued"},
                           {"reason", ""},
                           {"stop_requested", 0},
                           {"started_at", utc_now()}});
  for (std::size_t i = 0; i < session.runs.size(); ++i) put_run(connection, id, i, session.runs[i]);
  return id;
}

std::optional<Session> select_session(Connection& connection, RowId session) {
  Rows row = select(connection, kSession, {{"session", session}});
  if (!row.next()) return std::nullopt;
  Session found{.id = row.integer("id"),
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
  Rows runs = select(connection, kRuns, {{"session", session}});
  while (runs.next()) found.runs.push_back(run_of(runs));
  for (SessionSearch& run : found.runs) {
    run.rounds = rounds_of(connection, run.id);
    if (run.search) run.gain = last_gain(connection, *run.search);
  }
  return found;
}

void put_round(Connection& connection, RowId run, const SessionRound& round) {
  insert(connection, "session_rounds",
         {{"session_search_id", run},
          {"number", round.number},
          {"evaluations", round.evaluations},
          {"minutes", round.minutes},
          {"closes", round.closes},
          {"best_ns", round.best_ns},
          {"why", round.why}});
  update(connection, "session_searches", run, {{"state", "queued"}});
}

void begin_session_run(Connection& connection, const SessionSearch& run) {
  update(connection, "session_searches", run.id,
         {{"state", "running"},
          {"reason", ""},
          {"exit_code", nullptr},
          {"first_points", run.first_points ? std::optional(run.first_points->dump()) : std::nullopt},
          {"budgets", run.budgets.dump()},
          {"limit_ns", run.stats.limit_ns}});
}

void update_stats(Connection& connection, RowId run, const SessionSearchStats& stats) {
  update(connection, "session_searches", run,
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

void end_session_run(Connection& connection, const SessionSearch& run) {
  update(connection, "session_searches", run.id,
         {{"state", run.state}, {"reason", run.reason}, {"exit_code", run.exit_code}, {"in_flight", 0}});
}

void rename_models(Connection& connection, std::span<const RenamedModel> models) {
  Json list = Json::array();
  for (const RenamedModel& model : models) list.push_back({model.search, model.before, model.now});
  const std::string names = list.dump();
  // One statement for all: what one of them has renamed may be called as another was.
  for (const auto& [table, column] : {std::pair("llm_calls", "model"), std::pair("proposals", "proposer")})
    run(connection,
        fmt::format("UPDATE {0} SET {1} = r.now FROM (SELECT json_extract(value, '$[0]') AS search, "
                    "json_extract(value, '$[1]') AS before, json_extract(value, '$[2]') AS now FROM "
                    "json_each(:names)) r WHERE {0}.search_id = r.search AND {0}.{1} = r.before",
                    table, column),
        {{"names", names}});
}

}  // namespace ak::db
