// SPDX-License-Identifier: Apache-2.0
#include "db/store/known_points.h"

#include <map>
#include <set>

#include "db/rows.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

// Searches are of the same driver and version, because both decide how fast the same source is. On a pool a search has
// evaluations of several devices, all of one product.
constexpr const char* kKnownPoints = R"sql(
SELECT v.tunables AS tunables, e.status AS status, e.score_ns AS score_ns, e.depth AS depth,
  (SELECT exp(sum(w.weight * ln(x.predicted_ns)) / sum(w.weight))
   FROM predictions x JOIN workloads w ON w.id = x.workload_id WHERE x.evaluation_id = e.id) AS predicted_ns,
  (SELECT x.model FROM predictions x WHERE x.evaluation_id = e.id ORDER BY x.id LIMIT 1) AS predicted_by
FROM searches me JOIN devices d ON d.id = me.device_id JOIN environments n ON n.id = me.environment_id
JOIN searches s ON s.definition_id = me.definition_id AND s.arch = me.arch AND s.workloads_hash = me.workloads_hash
  AND s.id <> me.id
JOIN devices sd ON sd.id = s.device_id AND sd.kind = d.kind AND sd.name = d.name
JOIN environments sn ON sn.id = s.environment_id AND sn.driver_version = n.driver_version
  AND sn.alphakernel_version = n.alphakernel_version
JOIN evaluations e ON e.search_id = s.id
JOIN devices ed ON ed.id = e.device_id AND ed.kind = d.kind AND ed.name = d.name
JOIN proposals p ON p.id = e.proposal_id AND p.arm NOT IN ('comparison', 'profile')
JOIN variants v ON v.id = e.variant_id JOIN sources t ON t.id = v.source_id AND t.content_hash = :source
WHERE me.id = :search AND (e.status = 'ok' OR me.budgets ->> '$.max_error' IS s.budgets ->> '$.max_error')
ORDER BY e.ended_at, e.id)sql";

}  // namespace

std::vector<KnownPoint> select_known_points(Connection& connection, RowId search,
                                            const std::string& source_hash) {
  std::map<std::string, KnownPoint> points;  // by the text of the tunables; the last time of each
  std::set<std::string> wrong;
  Rows rows = select(connection, kKnownPoints, {{"source", source_hash}, {"search", search}});
  while (rows.next()) {
    const std::string tunables = rows.text("tunables");
    const Status status = parse_status(rows.text("status")).value_or(Status::infrastructure_error);
    const bool passed = is_verified(status);
    if (!passed && info(status).candidate_fault) wrong.insert(tunables);
    const auto score_ns = rows.real("score_ns");
    const bool timed = passed && score_ns && rows.text("depth") == stored_name(Depth::time);
    if (!timed && !wrong.contains(tunables)) continue;
    points[tunables] = {.tunables = parse_json(tunables).get<TunableValues>(),
                        .score_ns = score_ns,
                        .predicted_ns = rows.real("predicted_ns"),
                        .predicted_by = rows.text("predicted_by")};
    if (wrong.contains(tunables)) points[tunables].score_ns.reset();
  }
  std::vector<KnownPoint> known;
  for (auto& [text, point] : points) known.push_back(std::move(point));
  return known;
}

}  // namespace ak::db
