// SPDX-License-Identifier: Apache-2.0
#include "db/read/evaluated_variant.h"

#include <algorithm>

#include "core/stage.h"
#include "db/read/evaluation_parts.h"
#include "db/rows.h"
#include "db/store/stored_diagnostics.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

// The times of a variant that later was found wrong are in `superseded`, so that what found it comes first.
constexpr const char* kEvaluation = R"sql(
SELECT e.id AS evaluation, e.search_id AS search, p.arm AS arm, s.arch AS arch, dev.facts AS facts,
       e.status AS status, e.stage AS stage, e.message AS message, e.gate AS gate, e.diagnostics AS diagnostics,
       e.score_ns AS score_ns, e.occupancy_ratio AS occupancy_ratio, e.occupancy_limiter AS occupancy_limiter,
       e.shared_bytes AS shared_bytes, e.build_id AS build, s.command AS command, s.proposer AS proposer,
       s.strategy AS strategy, s.reason AS reason, n.alphakernel_version AS version,
       (julianday(s.ended_at) - julianday(s.started_at)) * 86400 AS wall_s
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN searches s ON s.id = e.search_id
JOIN devices dev ON dev.id = e.device_id JOIN environments n ON n.id = s.environment_id
WHERE e.variant_id = :variant AND p.arm NOT IN ('profile', 'comparison') AND (dev.name = :device OR :device = '')
ORDER BY EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id), e.score_ns IS NULL,
         e.status NOT IN ('ok', 'duplicate', 'compiled_only'), dev.kind <> 'cuda', p.arm <> 'final', p.arm = 'ablation', e.ended_at DESC, e.id DESC LIMIT 1)sql";

// Of the evaluations of the search that timed baselines the last: the one of the final measurement.
constexpr const char* kBaselines = R"sql(
SELECT max(e.id) FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'baseline'
WHERE e.search_id = :search)sql";

constexpr const char* kLater = R"sql(
SELECT p.arm AS arm, e.status AS status, e.message AS message, d.name AS device
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices d ON d.id = e.device_id
WHERE e.variant_id = :variant AND e.search_id = :search AND p.arm IN ('held_out', 'examination') ORDER BY e.id)sql";

constexpr const char* kSearch = R"sql(
SELECT coalesce(f.searched, 0) AS evaluations, coalesce(f.verified, 0) AS verified,
       s.best_variant_id IS :variant AND s.proposer <> 'user' AS chosen
FROM searches s LEFT JOIN search_figures f ON f.search_id = s.id WHERE s.id = :search)sql";

Outcome outcome_of(const Rows& row) {
  return {.status = parse_status(row.text("status")).value_or(Status::infrastructure_error),
          .stage = parse_stage(row.text("stage")).value_or(StageId::pre_check),
          .message = row.text("message"),
          .diagnostics = stored_diagnostics(row.text("diagnostics")),
          .gate = parse_gate(row.text("gate"))};
}

EvaluatedVariant evaluated_of(const Rows& row) {
  EvaluatedVariant found;
  found.evaluation = row.integer("evaluation");
  found.search = row.integer("search");
  found.arm = row.text("arm");
  found.arch = parse_sm(row.text("arch")).value_or(Arch{});
  found.device = device_facts_from_json(parse_json(row.text("facts")));
  found.result.outcome = outcome_of(row);
  found.result.score_ns = row.real("score_ns");
  if (const auto ratio = row.real("occupancy_ratio"))
    found.result.occupancy =
        Occupancy{.blocks_per_sm = 0, .ratio = *ratio, .limiter = row.text("occupancy_limiter")};
  found.result.shared_bytes = row.known_integer("shared_bytes");
  found.command = row.text("command");
  found.proposer = row.text("proposer");
  found.strategy = row.text("strategy");
  found.reason = row.text("reason");
  found.version = row.text("version");
  found.wall_s = row.real("wall_s").value_or(0);
  return found;
}

/// The baselines that the search timed last, where this evaluation is not the one that has them.
void add_baselines(Connection& connection, EvaluatedVariant& found) {
  const auto timed = select_integer(connection, kBaselines, {{"search", found.search}});
  if (!timed || *timed == found.evaluation) return;
  for (Measurement& m : select_measurements(connection, *timed))
    if (m.role == MeasurementRole::baseline) found.result.measurements.push_back(std::move(m));
}

std::vector<LaterCheck> later_checks(Connection& connection, const EvaluatedVariant& found) {
  std::vector<LaterCheck> list;
  Rows row = select(connection, kLater, {{"variant", found.variant}, {"search", found.search}});
  while (row.next())
    list.push_back({.arm = row.text("arm"),
                    .status = row.text("status"),
                    .message = row.text("message"),
                    .device = row.text("device")});
  return list;
}

void add_search(Connection& connection, EvaluatedVariant& found) {
  Rows row = select(connection, kSearch, {{"variant", found.variant}, {"search", found.search}});
  if (!row.next()) return;
  found.chosen = row.flag("chosen");
  found.evaluations = row.integer<int>("evaluations");
  found.verified = row.integer<int>("verified");
}

}  // namespace

std::optional<EvaluatedVariant> find_evaluation(const std::filesystem::path& file, RowId variant,
                                                const std::string& device) {
  Connection connection = open_to_read(file);
  Rows row = select(connection, kEvaluation, {{"variant", variant}, {"device", device}});
  if (!row.next()) return std::nullopt;
  EvaluatedVariant found = evaluated_of(row);
  found.variant = variant;
  EvaluationResult& result = found.result;
  if (const auto build = row.known_integer("build")) result.build = select_build(connection, *build);
  result.checks = select_checks(connection, found.evaluation);
  result.measurements = select_measurements(connection, found.evaluation);
  add_baselines(connection, found);
  add_counts(connection, found.evaluation, result.measurements);
  result.profiles = select_profiles(connection, variant, found.device.name);
  found.workloads = select_workloads(connection, found.evaluation);
  found.later = later_checks(connection, found);
  add_search(connection, found);
  return found;
}

}  // namespace ak::db
