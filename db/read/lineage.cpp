// SPDX-License-Identifier: Apache-2.0
#include "db/read/lineage.h"

#include <algorithm>
#include <deque>
#include <set>

#include "db/sqlite.h"

namespace ak::db {
namespace {

constexpr std::size_t kMaxSteps = 100;  // of a lineage; a model's longest are some dozens

constexpr const char* kPoints = R"sql(
SELECT v.id, v.tunables, min(e.score_ns)
FROM evaluations me JOIN sessions ms ON ms.id = me.session_id JOIN devices md ON md.id = me.device_id
JOIN variants mv ON mv.id = me.variant_id
JOIN variants v ON v.definition_id = mv.definition_id AND v.source_id = mv.source_id
JOIN evaluations e ON e.variant_id = v.id AND e.score_ns IS NOT NULL AND e.status IN ('ok', 'duplicate')
JOIN sessions s ON s.id = e.session_id AND s.arch = ms.arch AND s.workloads_hash IS ms.workloads_hash
JOIN devices d ON d.id = e.device_id AND d.kind = md.kind AND d.name = md.name
WHERE me.id = ? AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
GROUP BY v.id ORDER BY v.id)sql";

constexpr const char* kSwitched = R"sql(
SELECT v.id, v.name, min(e.score_ns)
FROM evaluations me JOIN variant_parents r ON r.parent_id = me.variant_id JOIN variants v ON v.id = r.variant_id
JOIN evaluations e ON e.variant_id = v.id AND e.device_id = me.device_id
JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'ablation'
WHERE me.id = ? GROUP BY v.id ORDER BY v.id)sql";

// The bare columns are those of the row with the least time.
constexpr const char* kStep = R"sql(
SELECT v.name, d.name, v.tunables, p.proposer, p.arm, e.status, e.message, dev.name, s.arch, e.score_ns,
       min(iif(e.device_id = (SELECT device_id FROM evaluations WHERE id = ?2), 0, 1e18)
           + iif(e.status IN ('ok', 'duplicate'), 0, 1e17) + coalesce(e.score_ns, 1e16))
FROM variants v JOIN definitions d ON d.id = v.definition_id
LEFT JOIN proposals p ON p.id = (SELECT min(id) FROM proposals WHERE variant_id = v.id)
LEFT JOIN evaluations e ON e.variant_id = v.id AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
LEFT JOIN devices dev ON dev.id = e.device_id LEFT JOIN sessions s ON s.id = e.session_id
WHERE v.id = ?1)sql";

constexpr const char* kSessionOfVariant = R"sql(
SELECT v.id, v.name, v.tunables, p.proposer, p.arm, e.status, e.score_ns, p.iteration, d.name, dev.name, s.arch
FROM evaluations me JOIN evaluations e ON e.session_id = me.session_id JOIN proposals p ON p.id = e.proposal_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN devices dev ON dev.id = e.device_id JOIN sessions s ON s.id = e.session_id
WHERE me.id = ? AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'final', 'profile', 'ablation')
ORDER BY e.id)sql";

LineageStep read_step(Connection& connection, RowId variant, RowId evaluation) {
  Statement& row = connection.prepare(kStep);
  row.bind(1, variant).bind(2, evaluation);
  LineageStep step;
  step.variant = variant;
  if (row.step()) {
    step.name = row.text(0);
    step.definition = row.text(1);
    step.tunables = parse_json(row.text(2)).get<TunableValues>();
    step.proposer = row.text(3);
    step.arm = row.text(4);
    step.status = row.text(5);
    step.message = row.text(6);
    step.device = row.text(7);
    step.arch = row.text(8);
    step.score_ns = row.real(9);
  }
  row.reset();
  return step;
}

std::vector<RowId> parents_of(Connection& connection, RowId variant) {
  Statement& row = connection.prepare("SELECT parent_id FROM variant_parents WHERE variant_id = ?");
  row.bind(1, variant);
  std::vector<RowId> parents;
  while (row.step()) parents.push_back(row.integer(0));
  row.reset();
  return parents;
}

RowId variant_of(Connection& connection, RowId evaluation) {
  Statement& row = connection.prepare("SELECT variant_id FROM evaluations WHERE id = ?");
  row.bind(1, evaluation);
  const RowId variant = row.step() ? row.integer(0) : 0;
  row.reset();
  return variant;
}

}  // namespace

std::vector<MeasuredPoint> measured_points(const std::filesystem::path& file, RowId evaluation) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kPoints);
  row.bind(1, evaluation);
  std::vector<MeasuredPoint> points;
  while (row.step())
    points.push_back({.variant = row.integer(0),
                      .tunables = parse_json(row.text(1)).get<TunableValues>(),
                      .score_ns = row.real(2).value_or(0)});
  return points;
}

std::vector<SwitchedOff> switched_off(const std::filesystem::path& file, RowId evaluation) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(kSwitched);
  row.bind(1, evaluation);
  std::vector<SwitchedOff> list;
  while (row.step())
    list.push_back({.variant = row.integer(0), .name = row.text(1), .score_ns = row.real(2)});
  return list;
}

std::vector<LineageStep> lineage(const std::filesystem::path& file, RowId evaluation) {
  Connection connection(file, OpenMode::read_only);
  std::vector<LineageStep> steps;
  std::deque<RowId> waiting{variant_of(connection, evaluation)};
  std::set<RowId> seen(waiting.begin(), waiting.end());
  for (; !waiting.empty() && steps.size() < kMaxSteps; waiting.pop_front()) {
    steps.push_back(read_step(connection, waiting.front(), evaluation));
    steps.back().parents = parents_of(connection, waiting.front());
    for (const RowId parent : steps.back().parents)
      if (seen.insert(parent).second) waiting.push_back(parent);
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<LineageStep> session_leads(const std::filesystem::path& file, RowId evaluation) {
  Connection connection(file, OpenMode::read_only);
  const RowId last = variant_of(connection, evaluation);
  Statement& row = connection.prepare(kSessionOfVariant);
  row.bind(1, evaluation);
  std::vector<LineageStep> leads;
  int tried = 0;
  while (row.step()) {
    ++tried;
    const auto score_ns = row.real(6);
    const std::string status = row.text(5);
    const bool passed = status == "ok" || status == "duplicate";
    if (!passed || !score_ns || (!leads.empty() && *leads.back().score_ns <= *score_ns)) continue;
    leads.push_back({.variant = row.integer(0),
                     .name = row.text(1),
                     .definition = row.text(8),
                     .proposer = row.text(3),
                     .arm = row.text(4),
                     .status = status,
                     .message = "",
                     .device = row.text(9),
                     .arch = row.text(10),
                     .tunables = parse_json(row.text(2)).get<TunableValues>(),
                     .parents = {},
                     .score_ns = score_ns,
                     .iteration = static_cast<int>(row.integer(7)),
                     .tried = tried});
    tried = 0;
    if (leads.back().variant == last) break;
  }
  row.reset();
  return leads;
}

std::vector<RowId> variants_of_prefix(const std::filesystem::path& file, const std::string& prefix) {
  constexpr int kMax = 5;  // more than one is refused; the message names these
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(
      "SELECT id FROM variants WHERE variant_hash >= ?1 AND variant_hash < ?1 || 'g' ORDER BY id LIMIT ?2");
  row.bind(1, prefix).bind(2, kMax);
  std::vector<RowId> found;
  while (row.step()) found.push_back(row.integer(0));
  return found;
}

}  // namespace ak::db
