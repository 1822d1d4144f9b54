// SPDX-License-Identifier: Apache-2.0
#include "db/read/search_stats.h"

#include <algorithm>
#include <array>

#include "db/read/matched_pairs.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

constexpr const char* kSearchOfNumber = R"sql(
SELECT d.name AS definition, coalesce(s.workloads_hash, '') AS workloads_hash, s.arch AS arch, s.proposer AS proposer,
       s.strategy AS strategy, s.status AS status, dev.kind AS device_kind, dev.name AS device, s.seed AS seed,
       coalesce(s.resumed, 0) AS resumed, s.best_variant_id AS best_variant,
       (SELECT h.score_ns FROM champions h WHERE h.search = s.id) AS best_ns,
       (julianday(s.ended_at) - julianday(s.started_at)) * 86400 AS wall_s,
       (SELECT sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) FROM llm_calls c
        WHERE c.search_id = s.id) AS tokens,
       (SELECT iif(sum(x.unpriced_calls) > 0, NULL, sum(x.cost_usd)) FROM spend x WHERE x.search = s.id) AS model_usd
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
WHERE s.id = :search)sql";

// In the order of the search: those that `search_figures` counts as searched.
constexpr const char* kCurve = R"sql(
SELECT e.status AS status, min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (ORDER BY e.id) AS best_ns
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE e.search_id = :search AND e.status <> 'pruned'
  AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') ORDER BY e.id)sql";

constexpr const char* kModels =
    "SELECT DISTINCT model FROM llm_calls WHERE search_id = :search ORDER BY model";

constexpr const char* kChampions = R"sql(
WITH best AS (SELECT search, evaluation FROM champions WHERE search IN (:first, :second)),
timed AS (
  SELECT t.search, w.workload_uid, w.name, m.method, m.cold, m.median_ns, d.name AS definition
  FROM best t JOIN measurements m ON m.evaluation_id = t.evaluation AND m.role = 'candidate' AND m.median_ns > 0
  JOIN workloads w ON w.id = m.workload_id JOIN definitions d ON d.id = w.definition_id)
SELECT a.definition AS definition, a.name AS what, a.median_ns AS first_ns, b.median_ns AS second_ns
FROM timed a JOIN timed b ON b.workload_uid = a.workload_uid AND b.method = a.method AND b.cold = a.cold
  AND b.definition = a.definition
WHERE a.search = :first AND b.search = :second ORDER BY a.name)sql";

// No failures of the candidate: it passed, or nothing was asked of it.
constexpr std::array<std::string_view, 4> kNoFailures{"ok", "compiled_only", "duplicate", "interrupted"};

SearchStats stats_of(const Rows& row) {
  return {.search = 0,
          .definition = row.text("definition"),
          .workloads_hash = row.text("workloads_hash"),
          .arch = row.text("arch"),
          .proposer = row.text("proposer"),
          .strategy = row.text("strategy"),
          .status = row.text("status"),
          .device = {.kind = row.text("device_kind"), .name = row.text("device")},
          .seed = row.integer("seed"),
          .resumed = row.flag("resumed"),
          .best_variant = row.known_integer("best_variant"),
          .best_ns = row.real("best_ns"),
          .best_so_far = {},
          .wall_s = row.real("wall_s"),
          .models = {},
          .tokens = row.integer("tokens"),
          .model_usd = row.real("model_usd"),
          .failures = {}};
}

void add_curve(Connection& connection, SearchStats& stats) {
  Rows row = select(connection, kCurve, {{"search", stats.search}});
  while (row.next()) {
    const std::string status = row.text("status");
    stats.best_so_far.push_back(row.real("best_ns").value_or(0));
    if (status == "ok" || status == "duplicate") ++stats.verified;
    if (std::ranges::find(kNoFailures, status) == kNoFailures.end()) ++stats.failures[status];
  }
}

}  // namespace

std::optional<double> SearchStats::best_after(std::int64_t count) const {
  if (count < 1 || count > evaluations()) return std::nullopt;
  const double best = best_so_far[static_cast<std::size_t>(count - 1)];
  return best > 0 ? std::optional(best) : std::nullopt;
}

std::optional<SearchStats> search_stats(const std::filesystem::path& file, RowId search) {
  Connection connection = open_to_read(file);
  Rows row = select(connection, kSearchOfNumber, {{"search", search}});
  if (!row.next()) return std::nullopt;
  SearchStats stats = stats_of(row);
  stats.search = search;
  add_curve(connection, stats);
  stats.models = select_texts(connection, kModels, {{"search", search}});
  return stats;
}

std::vector<MatchedPair> champion_pairs(const std::filesystem::path& file, RowId first, RowId second) {
  Connection connection = open_to_read(file);
  Rows rows = select(connection, kChampions, {{"first", first}, {"second", second}});
  return matched_pairs(rows);
}

}  // namespace ak::db
