// SPDX-License-Identifier: Apache-2.0
#include "db/read/compared_subjects.h"

#include <array>

#include "db/sqlite.h"

namespace ak::db {
namespace {

constexpr const char* kDevices = R"sql(
SELECT DISTINCT kind, name FROM devices d WHERE EXISTS (SELECT 1 FROM evaluations e WHERE e.device_id = d.id)
ORDER BY kind, name)sql";

// Prepared with the name of a column of llm_calls, which is one of two written here.
constexpr std::array<const char*, 2> kCallValues{
    "SELECT DISTINCT model FROM llm_calls ORDER BY model",
    "SELECT DISTINCT prompt_version FROM llm_calls ORDER BY prompt_version"};

constexpr const char* kSession = R"sql(
SELECT d.name, coalesce(s.workloads_hash, ''), s.arch, s.proposer, s.strategy, s.status, dev.kind, dev.name, s.seed,
       coalesce(s.resumed, 0), s.best_variant_id,
       (SELECT e.score_ns FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
        WHERE e.session_id = s.id AND e.device_id = s.device_id AND e.status = 'ok' AND e.score_ns IS NOT NULL
          AND e.variant_id = s.best_variant_id AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
        ORDER BY p.arm <> 'final', e.score_ns LIMIT 1),
       (julianday(s.ended_at) - julianday(s.started_at)) * 86400,
       (SELECT sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) FROM llm_calls c WHERE c.session_id = s.id),
       (SELECT CASE WHEN count(*) > 0 THEN total(cost_usd) END FROM llm_calls c WHERE c.session_id = s.id)
FROM sessions s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id WHERE s.id = ?)sql";

// In the order of the search.
constexpr const char* kCurve = R"sql(
SELECT e.status, min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (ORDER BY e.id)
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE e.session_id = ? AND e.status <> 'pruned'
  AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile', 'ablation') ORDER BY e.id)sql";

constexpr const char* kModels = "SELECT DISTINCT model FROM llm_calls WHERE session_id = ? ORDER BY model";

// The evaluation that says most of a session's best kernel; of a session without a champion the
// best that passed.
constexpr const char* kChampions = R"sql(
WITH told AS (
  SELECT s.id AS session,
         (SELECT e.id FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN sessions o ON o.id = e.session_id
          WHERE e.session_id = s.id AND e.device_id = s.device_id AND e.status = 'ok' AND e.score_ns IS NOT NULL
            AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
          ORDER BY e.variant_id IS NOT o.best_variant_id, p.arm <> 'final',
                   EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id), e.score_ns LIMIT 1) AS evaluation
  FROM sessions s WHERE s.id IN (?1, ?2)),
timed AS (
  SELECT t.session, w.workload_uid, w.name, m.method, m.cold, m.median_ns, d.name AS definition
  FROM told t JOIN measurements m ON m.evaluation_id = t.evaluation AND m.role = 'candidate' AND m.median_ns > 0
  JOIN workloads w ON w.id = m.workload_id JOIN definitions d ON d.id = w.definition_id)
SELECT a.definition, a.name, a.median_ns, b.median_ns
FROM timed a JOIN timed b ON b.workload_uid = a.workload_uid AND b.method = a.method AND b.cold = a.cold
  AND b.definition = a.definition
WHERE a.session = ?1 AND b.session = ?2 ORDER BY a.name)sql";

constexpr const char* kOnDevices = R"sql(
SELECT d.name, 'variant ' || v.id || ' on ' || w.name, avg(m.median_ns) FILTER (WHERE dev.name = ?2) AS first_ns,
       avg(m.median_ns) FILTER (WHERE dev.name = ?3) AS second_ns
FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id AND e.status = 'ok'
JOIN proposals p ON p.id = e.proposal_id AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
JOIN devices dev ON dev.id = e.device_id AND dev.kind = ?1 AND dev.name IN (?2, ?3)
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN workloads w ON w.id = m.workload_id
WHERE m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
GROUP BY v.id, w.workload_uid, m.method HAVING first_ns > 0 AND second_ns > 0 ORDER BY d.name, v.id, w.name)sql";

constexpr const char* kDevice = R"sql(
SELECT count(DISTINCT e.session_id), count(DISTINCT v.definition_id), count(DISTINCT v.id),
       count(DISTINCT CASE WHEN e.status = 'ok' THEN v.id END), count(*)
FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN devices dev ON dev.id = e.device_id
WHERE dev.kind = ? AND dev.name = ?)sql";

constexpr std::array<const char*, 2> kAsked{
    R"sql(SELECT session_id, NOT EXISTS (SELECT 1 FROM llm_calls o WHERE o.session_id = c.session_id AND o.model <> ?1)
          FROM llm_calls c WHERE model = ?1 GROUP BY session_id ORDER BY session_id)sql",
    R"sql(SELECT session_id,
                 NOT EXISTS (SELECT 1 FROM llm_calls o WHERE o.session_id = c.session_id AND o.prompt_version <> ?1)
          FROM llm_calls c WHERE prompt_version = ?1 GROUP BY session_id ORDER BY session_id)sql"};

constexpr const char* kCalls = R"sql(
WITH mine AS (SELECT * FROM llm_calls WHERE iif(?2, prompt_version, model) = ?1),
made AS (
  SELECT DISTINCT e.session_id, e.variant_id, e.status = 'ok' AS passed
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.llm_call_id IN (SELECT id FROM mine)
    AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile', 'ablation')),
candidates AS (SELECT session_id, variant_id, max(passed) AS passed FROM made GROUP BY session_id, variant_id)
SELECT count(DISTINCT session_id), count(*), (SELECT count(*) FROM candidates),
       (SELECT coalesce(sum(passed), 0) FROM candidates), count(reward), coalesce(sum(reward >= 0.5), 0),
       coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), total(cost_usd)
FROM mine)sql";

// As the query `spend` has it: from the start that the user gave, or the template's, to the best.
constexpr const char* kGain = R"sql(
SELECT min(e.score_ns) FILTER (WHERE p.llm_call_id IS NULL AND p.arm = 'start'), min(e.score_ns),
       (SELECT total(cost_usd) FROM llm_calls c WHERE c.session_id = ?1)
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE e.session_id = ?1 AND e.status = 'ok'
  AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile', 'ablation'))sql";

// No failures of the candidate: it passed, or nothing was asked of it.
bool is_failure(const std::string& status) {
  constexpr std::array<std::string_view, 4> kOthers{"ok", "compiled_only", "duplicate", "interrupted"};
  for (const std::string_view other : kOthers)
    if (status == other) return false;
  return true;
}

void read_curve(Connection& connection, SessionStats& stats) {
  Statement& row = connection.prepare(kCurve);
  row.bind(1, stats.session);
  while (row.step()) {
    const std::string status = row.text(0);
    stats.best_so_far.push_back(row.real(1).value_or(0));
    if (status == "ok") ++stats.verified;
    if (is_failure(status)) ++stats.failures[status];
  }
  row.reset();
}

std::vector<MatchedPair> read_pairs(Statement& row) {
  std::vector<MatchedPair> pairs;
  while (row.step())
    pairs.push_back({.definition = row.text(0),
                     .what = row.text(1),
                     .first_ns = row.real(2).value_or(0),
                     .second_ns = row.real(3).value_or(0)});
  return pairs;
}

}  // namespace

std::optional<double> SessionStats::best_after(std::int64_t count) const {
  if (count < 1 || count > evaluations()) return std::nullopt;
  const double best = best_so_far[static_cast<std::size_t>(count - 1)];
  return best > 0 ? std::optional(best) : std::nullopt;
}

std::vector<DeviceName> device_names(const std::filesystem::path& file) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kDevices);
  std::vector<DeviceName> names;
  while (row.step()) names.push_back({.kind = row.text(0), .name = row.text(1)});
  return names;
}

std::vector<std::string> call_values(const std::filesystem::path& file, CallColumn column) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kCallValues.at(static_cast<std::size_t>(column)));
  std::vector<std::string> values;
  while (row.step()) values.push_back(row.text(0));
  return values;
}

std::optional<SessionStats> session_stats(const std::filesystem::path& file, RowId session) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kSession);
  row.bind(1, session);
  if (!row.step()) return std::nullopt;
  SessionStats stats{.session = session,
                     .definition = row.text(0),
                     .workloads_hash = row.text(1),
                     .arch = row.text(2),
                     .proposer = row.text(3),
                     .strategy = row.text(4),
                     .status = row.text(5),
                     .device = {.kind = row.text(6), .name = row.text(7)},
                     .seed = row.integer(8),
                     .resumed = row.integer(9) != 0,
                     .best_variant = {},
                     .best_ns = row.real(11),
                     .best_so_far = {},
                     .wall_s = row.real(12),
                     .models = {},
                     .tokens = row.integer(13),
                     .model_usd = row.real(14),
                     .failures = {}};
  if (row.real(10)) stats.best_variant = row.integer(10);
  row.reset();
  read_curve(connection, stats);
  Statement& models = connection.prepare(kModels);
  models.bind(1, session);
  while (models.step()) stats.models.push_back(models.text(0));
  return stats;
}

std::vector<MatchedPair> champion_pairs(const std::filesystem::path& file, RowId first, RowId second) {
  Connection connection(file, OpenMode::read_only);
  return read_pairs(connection.prepare(kChampions).bind(1, first).bind(2, second));
}

std::vector<MatchedPair> device_pairs(const std::filesystem::path& file, const DeviceName& first,
                                      const DeviceName& second) {
  if (first.kind != second.kind || first == second) return {};
  Connection connection(file, OpenMode::read_only);
  return read_pairs(
      connection.prepare(kOnDevices).bind(1, first.kind).bind(2, first.name).bind(3, second.name));
}

DeviceStats device_stats(const std::filesystem::path& file, const DeviceName& device) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kDevice).bind(1, device.kind).bind(2, device.name);
  row.step();
  return {.sessions = row.integer(0),
          .definitions = row.integer(1),
          .variants = row.integer(2),
          .passed = row.integer(3),
          .evaluations = row.integer(4)};
}

std::vector<AskedSession> asked_sessions(const std::filesystem::path& file, CallColumn column,
                                         const std::string& value) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kAsked.at(static_cast<std::size_t>(column))).bind(1, value);
  std::vector<AskedSession> sessions;
  while (row.step()) sessions.push_back({.session = row.integer(0), .alone = row.integer(1) != 0});
  return sessions;
}

CallStats call_stats(const std::filesystem::path& file, CallColumn column, const std::string& value) {
  CallStats stats;
  {
    Connection connection(file, OpenMode::read_only);
    Statement& row = connection.prepare(kCalls).bind(1, value).bind(2, column == CallColumn::prompt_version);
    row.step();
    stats = {.sessions = row.integer(0),
             .calls = row.integer(1),
             .candidates = row.integer(2),
             .verified = row.integer(3),
             .exchanges = row.integer(4),
             .took_the_lead = row.integer(5),
             .input_tokens = row.integer(6),
             .output_tokens = row.integer(7),
             .cost_usd = row.real(8).value_or(0)};
  }
  Connection connection(file, OpenMode::read_only);
  for (const AskedSession& asked : asked_sessions(file, column, value)) {
    if (!asked.alone) continue;
    Statement& row = connection.prepare(kGain).bind(1, asked.session);
    row.step();
    const auto start = row.real(0), best = row.real(1);
    const double cost = row.real(2).value_or(0);
    row.reset();
    if (!start || !best || *best <= 0) continue;
    stats.percent_gained += 100 * (*start / *best - 1);
    stats.cost_of_gains_usd += cost;
  }
  return stats;
}

}  // namespace ak::db
