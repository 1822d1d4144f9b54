// SPDX-License-Identifier: Apache-2.0
#include "db/read/device_stats.h"

#include "db/read/matched_pairs.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

constexpr const char* kDevices = R"sql(
SELECT DISTINCT kind, name FROM devices d WHERE EXISTS (SELECT 1 FROM evaluations e WHERE e.device_id = d.id)
ORDER BY kind, name)sql";

constexpr const char* kOnDevices = R"sql(
SELECT d.name AS definition, 'variant ' || v.id || ' on ' || w.name AS what,
       avg(m.median_ns) FILTER (WHERE dev.name = :first) AS first_ns,
       avg(m.median_ns) FILTER (WHERE dev.name = :second) AS second_ns
FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id AND e.status = 'ok'
JOIN proposals p ON p.id = e.proposal_id AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
JOIN devices dev ON dev.id = e.device_id AND dev.kind = :kind AND dev.name IN (:first, :second)
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN workloads w ON w.id = m.workload_id
WHERE m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
GROUP BY v.id, w.workload_uid, m.method HAVING first_ns > 0 AND second_ns > 0 ORDER BY d.name, v.id, w.name)sql";

constexpr const char* kDevice = R"sql(
SELECT count(DISTINCT e.search_id) AS searches, count(DISTINCT v.definition_id) AS definitions,
       count(DISTINCT v.id) AS variants, count(DISTINCT CASE WHEN e.status = 'ok' THEN v.id END) AS passed,
       count(*) AS evaluations
FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN devices dev ON dev.id = e.device_id
WHERE dev.kind = :kind AND dev.name = :name)sql";

}  // namespace

std::vector<DeviceName> device_names(const std::filesystem::path& file) {
  Connection connection = open_to_read(file);
  std::vector<DeviceName> names;
  Rows row = select(connection, kDevices);
  while (row.next()) names.push_back({.kind = row.text("kind"), .name = row.text("name")});
  return names;
}

std::vector<MatchedPair> device_pairs(const std::filesystem::path& file, const DeviceName& first,
                                      const DeviceName& second) {
  if (first.kind != second.kind || first == second) return {};
  Connection connection = open_to_read(file);
  Rows rows =
      select(connection, kOnDevices, {{"kind", first.kind}, {"first", first.name}, {"second", second.name}});
  return matched_pairs(rows);
}

DeviceStats device_stats(const std::filesystem::path& file, const DeviceName& device) {
  Connection connection = open_to_read(file);
  Rows row = select(connection, kDevice, {{"kind", device.kind}, {"name", device.name}});
  if (!row.next()) return {};
  return {.searches = row.integer("searches"),
          .definitions = row.integer("definitions"),
          .variants = row.integer("variants"),
          .passed = row.integer("passed"),
          .evaluations = row.integer("evaluations")};
}

}  // namespace ak::db
