-- Measurements during which the GPU's clocks were held down.
-- limit: most rows (integer, 30)
SELECT e.search_id AS search, e.variant_id AS variant, w.name AS workload, round(m.median_ns / 1000.0, 3) AS median_us,
       m.throttled, m.throttle_reasons, m.sm_clock_mhz, m.temperature_c, round(m.power_w, 0) AS power_w
FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN workloads w ON w.id = m.workload_id
WHERE m.throttled > 0 ORDER BY e.ended_at DESC, m.id DESC LIMIT :limit
