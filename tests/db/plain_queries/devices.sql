-- Devices that were used, with the searches and evaluations on each.
SELECT d.name, d.kind, d.arch, d.sm_count, round(d.memory_bytes / 1e9, 1) AS memory_gb,
       round(d.peak_bandwidth_gbps, 0) AS peak_gb_per_s, count(DISTINCT s.id) AS sessions, count(e.id) AS evaluations,
       min(s.started_at) AS first_used, max(s.started_at) AS last_used
FROM devices d LEFT JOIN sessions s ON s.device_id = d.id LEFT JOIN evaluations e ON e.session_id = s.id
GROUP BY d.id ORDER BY evaluations DESC
