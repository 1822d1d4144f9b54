// SPDX-License-Identifier: Apache-2.0
#include "db/read/exchange_rows.h"

#include <algorithm>

#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

constexpr const char* kDefinitions = R"sql(
SELECT id, name, problem, params, definition FROM definitions d
WHERE id = (SELECT max(id) FROM definitions o WHERE o.name = d.name) ORDER BY name)sql";

constexpr const char* kWorkloads = R"sql(
SELECT workload_uid, name, tier, axes, weight, checked, timed, flops, bytes_read, bytes_written FROM workloads w
WHERE definition_id = :definition AND id = (SELECT max(id) FROM workloads o
      WHERE o.definition_id = :definition AND o.workload_uid = w.workload_uid)
ORDER BY (SELECT min(id) FROM workloads o WHERE o.definition_id = :definition AND o.workload_uid = w.workload_uid))sql";

constexpr const char* kVariants = R"sql(
SELECT v.id AS id, v.variant_hash AS hash, v.name AS name, s.text AS source, s.headers AS headers, v.tunables AS tunables
FROM variants v JOIN sources s ON s.id = v.source_id
WHERE v.definition_id = :definition
  AND EXISTS (SELECT 1 FROM evaluations e JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda'
              WHERE e.variant_id = v.id AND (:all OR e.status = 'ok'))
ORDER BY v.id)sql";

constexpr const char* kRan = R"sql(
SELECT s.arch AS arch, d.name AS device FROM evaluations e JOIN searches s ON s.id = e.search_id
JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda' WHERE e.variant_id = :variant ORDER BY e.ended_at DESC, e.id DESC)sql";

// Of every evaluation each shape that it checked or timed; of one that reached none the first shape.
constexpr const char* kResults = R"sql(
WITH reached AS (
  SELECT evaluation_id, workload_id FROM evaluation_checks UNION
  SELECT evaluation_id, workload_id FROM measurements WHERE role = 'candidate'),
bases AS (
  SELECT e.search_id, m.workload_id, coalesce(min(m.median_ns) FILTER (WHERE m.label = 'naive'), max(m.median_ns)) AS ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id
  WHERE m.role = 'baseline' AND m.cold = 1 AND e.search_id IN (SELECT search_id FROM evaluations WHERE variant_id = :variant)
  GROUP BY e.search_id, m.workload_id)
SELECT w.workload_uid AS workload_uid, e.status AS status, e.message AS message, d.name AS device,
       n.alphakernel_version AS version, e.ended_at AS ended_at, n.driver_version AS driver_version,
       (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS max_error,
       (SELECT max(c.worst_difference) FROM check_figures c
        WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS absolute_error,
       EXISTS (SELECT 1 FROM evaluation_checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS checked,
       (SELECT m.median_ns FROM measurements m WHERE m.evaluation_id = e.id AND m.workload_id = w.id
        AND m.role = 'candidate' AND m.cold = 1) AS median_ns, b.ns AS baseline_ns
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN searches s ON s.id = e.search_id
JOIN environments n ON n.id = s.environment_id JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda'
LEFT JOIN reached r ON r.evaluation_id = e.id
JOIN workloads w ON w.id = coalesce(r.workload_id, (SELECT min(o.id) FROM workloads o WHERE o.definition_id = s.definition_id))
LEFT JOIN bases b ON b.search_id = e.search_id AND b.workload_id = w.id
WHERE e.variant_id = :variant AND e.status NOT IN ('compiled_only', 'pruned', 'interrupted')
  AND p.arm NOT IN ('comparison', 'held_out', 'examination', 'profile')
ORDER BY e.id, w.id)sql";

/// The target of the latest evaluation on a GPU, and the GPUs that it ran on.
void add_devices(Connection& connection, ExchangedVariant& variant) {
  Rows row = select(connection, kRan, {{"variant", variant.id}});
  while (row.next()) {
    if (variant.arch.empty()) variant.arch = row.text("arch");
    const std::string device = row.text("device");
    if (std::ranges::find(variant.devices, device) == variant.devices.end())
      variant.devices.push_back(device);
  }
}

}  // namespace

std::vector<ExchangedDefinition> exchanged_definitions(const std::filesystem::path& file) {
  Connection connection = open_to_read(file);
  std::vector<ExchangedDefinition> list;
  Rows row = select(connection, kDefinitions);
  while (row.next())
    list.push_back({.id = row.integer("id"),
                    .name = row.text("name"),
                    .problem = row.text("problem"),
                    .params = parse_json(row.text("params")),
                    .definition = parse_json(row.text("definition"))});
  return list;
}

std::vector<WorkloadRow> exchanged_workloads(const std::filesystem::path& file, RowId definition) {
  Connection connection = open_to_read(file);
  std::vector<WorkloadRow> list;
  Rows row = select(connection, kWorkloads, {{"definition", definition}});
  while (row.next())
    list.push_back({.uid = row.text("workload_uid"),
                    .name = row.text("name"),
                    .tier = row.text("tier"),
                    .axes = parse_json(row.text("axes")).get<AxisValues>(),
                    .weight = row.real("weight").value_or(1),
                    .checked = row.flag("checked"),
                    .timed = row.flag("timed"),
                    .flops = row.known_integer("flops"),
                    .bytes_read = row.known_integer("bytes_read"),
                    .bytes_written = row.known_integer("bytes_written")});
  return list;
}

std::vector<ExchangedVariant> exchanged_variants(const std::filesystem::path& file, RowId definition,
                                                 bool all) {
  Connection connection = open_to_read(file);
  std::vector<ExchangedVariant> list;
  Rows row = select(connection, kVariants, {{"definition", definition}, {"all", all}});
  while (row.next()) {
    list.push_back({.id = row.integer("id"),
                    .hash = row.text("hash"),
                    .name = row.text("name"),
                    .source = row.text("source"),
                    .headers = row.text("headers"),
                    .tunables = parse_json(row.text("tunables")),
                    .arch = "",
                    .devices = {}});
    add_devices(connection, list.back());
  }
  return list;
}

std::vector<ExchangedResult> exchanged_results(const std::filesystem::path& file, RowId variant) {
  Connection connection = open_to_read(file);
  std::vector<ExchangedResult> list;
  Rows row = select(connection, kResults, {{"variant", variant}});
  while (row.next())
    list.push_back({.workload_uid = row.text("workload_uid"),
                    .status = row.text("status"),
                    .message = row.text("message"),
                    .device = row.text("device"),
                    .version = row.text("version"),
                    .ended_at = row.text("ended_at"),
                    .driver_version = row.integer("driver_version"),
                    .max_error = row.real("max_error"),
                    .absolute_error = row.real("absolute_error"),
                    .checked = row.flag("checked"),
                    .median_ns = row.real("median_ns"),
                    .baseline_ns = row.real("baseline_ns")});
  return list;
}

}  // namespace ak::db
