-- How near the best kernels come to the bandwidth of their device's memory.
WITH timed AS (
  SELECT w.definition_id, w.name AS workload, e.device_id, e.variant_id, min(m.median_ns) AS median_ns,
         max((w.bytes_read + w.bytes_written) / m.median_ns) AS gb_per_s
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN workloads w ON w.id = m.workload_id
  WHERE m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator' AND m.median_ns IS NOT NULL
    AND (e.status IN ('ok', 'duplicate')
         OR e.status NOT IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race')
            AND (SELECT min(c.failed = 0) FROM check_figures c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) = 1)
    AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('comparison', 'examination', 'profile'))
  GROUP BY w.definition_id, w.name, e.device_id)
SELECT d.name AS definition, t.workload, dev.name AS device, t.variant_id AS variant, v.name AS template,
       round(min(t.median_ns) / 1000.0, 3) AS time_us, round(max(t.gb_per_s), 0) AS gb_per_s,
       round(dev.peak_bandwidth_gbps, 0) AS peak_gb_per_s,
       round(100 * max(t.gb_per_s) / nullif(dev.peak_bandwidth_gbps, 0), 1) AS percent_of_peak
FROM timed t JOIN definitions d ON d.id = t.definition_id JOIN devices dev ON dev.id = t.device_id
JOIN variants v ON v.id = t.variant_id
GROUP BY d.name, t.workload, dev.name ORDER BY percent_of_peak DESC
