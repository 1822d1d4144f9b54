// SPDX-License-Identifier: Apache-2.0
#include "db/read/lineage.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

constexpr std::size_t kMaxSteps = 100;  // of a lineage; a model's longest are some dozens

constexpr const char* kPoints = R"sql(
SELECT v.id AS variant, v.tunables AS tunables, min(e.score_ns) AS score_ns
FROM evaluations me JOIN searches ms ON ms.id = me.search_id JOIN devices md ON md.id = me.device_id
JOIN variants mv ON mv.id = me.variant_id
JOIN variants v ON v.definition_id = mv.definition_id AND v.source_id = mv.source_id
JOIN evaluations e ON e.variant_id = v.id AND e.score_ns IS NOT NULL AND e.status IN ('ok', 'duplicate')
JOIN searches s ON s.id = e.search_id AND s.arch = ms.arch AND s.workloads_hash IS ms.workloads_hash
JOIN devices d ON d.id = e.device_id AND d.kind = md.kind AND d.name = md.name
WHERE me.id = :evaluation AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
GROUP BY v.id ORDER BY v.id)sql";

constexpr const char* kSwitched = R"sql(
SELECT v.id AS variant, v.name AS name, min(e.score_ns) AS score_ns
FROM evaluations me JOIN variant_parents r ON r.parent_id = me.variant_id JOIN variants v ON v.id = r.variant_id
JOIN evaluations e ON e.variant_id = v.id AND e.device_id = me.device_id
JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'ablation'
WHERE me.id = :evaluation GROUP BY v.id ORDER BY v.id)sql";

// The bare columns are those of the row with the least time.
constexpr const char* kStep = R"sql(
SELECT v.name AS name, d.name AS definition, v.tunables AS tunables, p.proposer AS proposer, p.arm AS arm,
       e.status AS status, e.message AS message, dev.name AS device, s.arch AS arch, e.score_ns AS score_ns,
       min(iif(e.device_id = (SELECT device_id FROM evaluations WHERE id = :evaluation), 0, 1e18)
           + iif(e.status IN ('ok', 'duplicate'), 0, 1e17) + coalesce(e.score_ns, 1e16))
FROM variants v JOIN definitions d ON d.id = v.definition_id
LEFT JOIN proposals p ON p.id = (SELECT min(id) FROM proposals WHERE variant_id = v.id)
LEFT JOIN evaluations e ON e.variant_id = v.id AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
LEFT JOIN devices dev ON dev.id = e.device_id LEFT JOIN searches s ON s.id = e.search_id
WHERE v.id = :variant)sql";

constexpr const char* kSearchOfVariant = R"sql(
SELECT v.id AS variant, v.name AS name, d.name AS definition, v.tunables AS tunables, p.proposer AS proposer,
       p.arm AS arm, e.status AS status, dev.name AS device, s.arch AS arch, e.score_ns AS score_ns,
       p.iteration AS iteration
FROM evaluations me JOIN evaluations e ON e.search_id = me.search_id JOIN proposals p ON p.id = e.proposal_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN devices dev ON dev.id = e.device_id JOIN searches s ON s.id = e.search_id
WHERE me.id = :evaluation AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'final', 'profile', 'ablation')
ORDER BY e.id)sql";

LineageStep step_of(const Rows& row) {
  LineageStep step;
  step.name = row.text("name");
  step.definition = row.text("definition");
  step.proposer = row.text("proposer");
  step.arm = row.text("arm");
  step.status = row.text("status");
  step.device = row.text("device");
  step.arch = row.text("arch");
  step.tunables = parse_json(row.text("tunables")).get<TunableValues>();
  step.score_ns = row.real("score_ns");
  return step;
}

LineageStep find_step(Connection& connection, RowId variant, RowId evaluation) {
  Rows row = select(connection, kStep, {{"variant", variant}, {"evaluation", evaluation}});
  LineageStep step;
  if (row.next()) {
    step = step_of(row);
    step.message = row.text("message");
  }
  step.variant = variant;
  step.parents =
      select_integers(connection, "SELECT parent_id FROM variant_parents WHERE variant_id = :variant",
                      {{"variant", variant}});
  return step;
}

RowId variant_of(Connection& connection, RowId evaluation) {
  return select_integer(connection, "SELECT variant_id FROM evaluations WHERE id = :evaluation",
                        {{"evaluation", evaluation}})
      .value_or(0);
}

}  // namespace

std::vector<MeasuredPoint> measured_points(const std::filesystem::path& file, RowId evaluation) {
  Connection connection = open_to_read(file);
  std::vector<MeasuredPoint> points;
  Rows row = select(connection, kPoints, {{"evaluation", evaluation}});
  while (row.next())
    points.push_back({.variant = row.integer("variant"),
                      .tunables = parse_json(row.text("tunables")).get<TunableValues>(),
                      .score_ns = row.real("score_ns").value_or(0)});
  return points;
}

std::vector<SwitchedOff> switched_off(const std::filesystem::path& file, RowId evaluation) {
  Connection connection = open_to_read(file);
  std::vector<SwitchedOff> list;
  Rows row = select(connection, kSwitched, {{"evaluation", evaluation}});
  while (row.next())
    list.push_back(
        {.variant = row.integer("variant"), .name = row.text("name"), .score_ns = row.real("score_ns")});
  return list;
}

std::vector<LineageStep> lineage(const std::filesystem::path& file, RowId evaluation) {
  Connection connection = open_to_read(file);
  std::vector<LineageStep> steps;
  std::deque<RowId> waiting{variant_of(connection, evaluation)};
  std::set<RowId> seen(waiting.begin(), waiting.end());
  for (; !waiting.empty() && steps.size() < kMaxSteps; waiting.pop_front()) {
    steps.push_back(find_step(connection, waiting.front(), evaluation));
    for (const RowId parent : steps.back().parents)
      if (seen.insert(parent).second) waiting.push_back(parent);
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<LineageStep> search_leads(const std::filesystem::path& file, RowId evaluation) {
  Connection connection = open_to_read(file);
  const RowId last = variant_of(connection, evaluation);
  std::vector<LineageStep> leads;
  int tried = 0;
  Rows row = select(connection, kSearchOfVariant, {{"evaluation", evaluation}});
  while (row.next()) {
    ++tried;
    const auto score_ns = row.real("score_ns");
    const std::string status = row.text("status");
    const bool passed = status == "ok" || status == "duplicate";
    if (!passed || !score_ns || (!leads.empty() && *leads.back().score_ns <= *score_ns)) continue;
    LineageStep& lead = leads.emplace_back(step_of(row));
    lead.variant = row.integer("variant");
    lead.iteration = row.integer<int>("iteration");
    lead.tried = std::exchange(tried, 0);
    if (lead.variant == last) break;
  }
  return leads;
}

std::vector<RowId> variants_of_prefix(const std::filesystem::path& file, const std::string& prefix) {
  constexpr int kMax = 5;  // more than one is refused; the message names these
  Connection connection = open_to_read(file);
  return select_integers(connection,
                         "SELECT id FROM variants WHERE variant_hash >= :prefix AND variant_hash < :prefix "
                         "|| 'g' ORDER BY id LIMIT :limit",
                         {{"prefix", prefix}, {"limit", kMax}});
}

}  // namespace ak::db
