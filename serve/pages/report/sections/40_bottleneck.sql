-- Bottlenecks
--
-- @limits What limits the best known kernels, and what to try
SELECT i.algorithm, i.device, i.bottleneck, i.text AS finding
FROM insights i
WHERE i.kind = 'bottleneck' AND i.algorithm IN (SELECT d.problem FROM searches s JOIN definitions d ON d.id = s.definition_id WHERE s.id IN (SELECT id FROM report_searches))
ORDER BY i.device_kind, i.algorithm, i.id LIMIT 50;

-- @roof Every timed variant by the fewest bytes its problem needs; the fastest ten and a sample of the rest of each problem
WITH timed AS (
  SELECT v.name AS device, d.name AS definition, w.name AS workload, e.variant_id AS variant,
         1.0 * w.flops / (w.bytes_read + w.bytes_written) AS intensity_flop_per_byte, w.flops / m.median_ns / 1000 AS speed_tflops,
         row_number() OVER (PARTITION BY s.definition_id, v.name ORDER BY m.median_ns) AS place,
         count(*) OVER (PARTITION BY s.definition_id, v.name) AS many
  FROM searches s JOIN evaluations e ON e.search_id = s.id AND e.status = 'ok'
  JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator'
  JOIN workloads w ON w.id = m.workload_id AND w.flops > 0 AND w.bytes_read + w.bytes_written > 0
  JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id
  WHERE s.id IN (SELECT id FROM report_searches))
SELECT device, definition, workload, variant, intensity_flop_per_byte, speed_tflops FROM timed
WHERE place <= 10 OR place % (1 + many / 200) = 0;

-- @roofs What the devices can do at most
SELECT DISTINCT v.name AS facet, l.label, l.peak_tflops, l.peak_gbps
FROM device_limits l JOIN devices v ON v.id = l.device_id
WHERE (l.definition, l.device_id) IN (SELECT definition_id, device_id FROM searches WHERE id IN (SELECT id FROM report_searches))
  AND l.peak_tflops > 0;

-- @stages Where the time of an evaluation goes, on average
SELECT stage, ms AS mean_ms FROM (
  SELECT 1 AS rank, 'waiting for a compile worker' AS stage, avg(queue_ms) AS ms FROM evaluations WHERE search_id IN (SELECT id FROM report_searches)
  UNION ALL SELECT 2, 'building', avg(build_ms) FROM evaluations WHERE search_id IN (SELECT id FROM report_searches)
  UNION ALL SELECT 3, 'waiting for the device', avg(device_wait_ms) FROM evaluations WHERE search_id IN (SELECT id FROM report_searches)
  UNION ALL SELECT 4, 'checking', avg(check_ms) FROM evaluations WHERE search_id IN (SELECT id FROM report_searches)
  UNION ALL SELECT 5, 'timing', avg(time_ms) FROM evaluations WHERE search_id IN (SELECT id FROM report_searches))
WHERE ms IS NOT NULL ORDER BY rank;

-- @tradeoffs Time against the largest error of the two hundred fastest of each problem; those no other beats are joined
WITH fast AS (
  SELECT s.definition_id, v.name AS device, e.variant_id, min(e.score_ns) AS score_ns, min(e.id) AS evaluation_id
  FROM searches s JOIN evaluations e ON e.search_id = s.id AND e.status = 'ok' AND e.score_ns IS NOT NULL
  JOIN devices v ON v.id = s.device_id AND v.kind = 'cuda'
  WHERE s.id IN (SELECT id FROM report_searches) GROUP BY 1, 2, 3),
placed AS (SELECT *, row_number() OVER (PARTITION BY definition_id, device ORDER BY score_ns) AS place FROM fast),
judged AS (
  SELECT p.*, (SELECT max(max_error) FROM check_figures c WHERE c.evaluation_id = p.evaluation_id) AS max_error FROM placed p WHERE place <= 200)
SELECT d.name || ' on ' || j.device AS problem, j.variant_id AS variant, j.score_ns / 1000 AS time_us, j.max_error,
       j.max_error < ifnull(min(j.max_error) OVER (PARTITION BY j.definition_id, j.device ORDER BY j.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1e300) AS front
FROM judged j JOIN definitions d ON d.id = j.definition_id
WHERE j.max_error IS NOT NULL
ORDER BY problem, place;

-- @energy Energy of the best kernels
SELECT d.name AS definition, v.name AS device, e.variant_id AS variant, e.score_ns / 1000 AS time_us, j.value AS energy_joule, p.value AS power_watt,
       b.value / 1e9 AS traffic_gb_per_j, f.value / 1e9 AS work_gflop_per_j
FROM evaluations e JOIN metrics j ON j.evaluation_id = e.id AND j.name = 'energy/joule'
JOIN searches s ON s.id = e.search_id JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = e.device_id
LEFT JOIN metrics p ON p.evaluation_id = e.id AND p.name = 'energy/power'
LEFT JOIN metrics b ON b.evaluation_id = e.id AND b.name = 'energy/bytes_per_joule'
LEFT JOIN metrics f ON f.evaluation_id = e.id AND f.name = 'energy/flops_per_joule'
WHERE e.search_id IN (SELECT id FROM report_searches)
ORDER BY definition, device LIMIT 50;
