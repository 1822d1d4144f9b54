// SPDX-License-Identifier: Apache-2.0
#include "db/read/measured_call_rows.h"

namespace ak::db {
namespace {

constexpr const char* kMeasuredCalls = R"sql(
SELECT d.id AS definition_id, d.problem, d.name AS definition, v.name AS candidate, v.variant_hash, v.source_id,
       v.tunables, w.name AS workload, w.axes, w.weight, w.flops, w.bytes_read, w.bytes_written,
       avg(m.median_ns) AS measured_ns, dev.facts, s.arch,
       (SELECT json_group_array(json_object('kernel', k.kernel, 'registers', k.registers,
               'shared', k.static_shared_bytes, 'stores', k.spill_store_bytes, 'loads', k.spill_load_bytes))
        FROM build_kernels k WHERE k.build_id = e.build_id) AS kernels
FROM measurements m
JOIN evaluations e ON e.id = m.evaluation_id JOIN proposals p ON p.id = e.proposal_id
JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id
JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
JOIN searches s ON s.id = e.search_id
WHERE m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0 AND e.status = 'ok' AND dev.kind = 'cuda'
  AND p.arm NOT IN ('comparison', 'examination', 'held_out')
GROUP BY v.id, w.id, dev.id ORDER BY v.id, w.id, dev.id)sql";

constexpr const char* kEmulatedCounts = R"sql(
SELECT d.name AS definition, v.variant_hash, w.axes, w.flops, w.bytes_read, w.bytes_written, m.name, m.value,
       e.id AS evaluation
FROM metrics m
JOIN evaluations e ON e.id = m.evaluation_id JOIN devices dev ON dev.id = e.device_id
JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id
JOIN definitions d ON d.id = v.definition_id
WHERE dev.kind = 'emulator' AND e.status = 'ok' AND m.kernel = ''
ORDER BY v.id, w.id, e.id)sql";

}  // namespace

Table measured_call_rows(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  return query(file, kMeasuredCalls, 0, limit);
}
Table emulated_count_rows(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  return query(file, kEmulatedCounts, 0, limit);
}
Table definition_rows(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  return query(file, "SELECT id, problem, params, definition FROM definitions", 0, limit);
}
Table source_rows(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  return query(file, "SELECT id, text FROM sources", 0, limit);
}

}  // namespace ak::db
