-- Current best results
--
-- @best The best known of every problem of this time, next to target, baseline and speed of light
WITH champion AS (
  SELECT c.*, min(c.score_ns) FROM report_champions c
  WHERE (c.definition_id, c.device, c.arch) IN (SELECT definition_id, device, arch FROM report_champions WHERE reported)
  GROUP BY c.definition_id, c.device, c.arch),
-- CROSS: in this order; from the measurements it would read all of them.
call AS (
  SELECT c.search, c.variant, w.id AS workload_id, w.weight,
         max(1.0 * coalesce(w.bytes_read + w.bytes_written, 0) / nullif(l.peak_gbps, 0),
             coalesce(1.0 * w.flops / nullif(l.peak_tflops, 0) / 1000, 0)) AS limit_ns
  FROM champion c CROSS JOIN measurements m ON m.evaluation_id = c.evaluation AND m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator'
  JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
  LEFT JOIN device_limits l ON l.definition = c.definition_id AND l.device_id = c.device_id
  GROUP BY 1, 2, 3),
light AS (
  SELECT search, variant, exp(sum(weight * ln(limit_ns)) / sum(weight)) AS limit_ns FROM call WHERE limit_ns > 0 GROUP BY 1, 2),
-- In turns with the champion where that was done, else apart in the same search.
turned AS (
  SELECT c.search, t.baseline AS label, exp(sum(w.weight * ln(t.speedup)) / sum(w.weight)) AS speedup
  FROM champion c JOIN baseline_turns t ON t.search = c.search AND t.variant = c.variant AND t.times = 'device' AND t.baseline <> 'itself'
  JOIN workloads w ON w.id = t.workload_id AND w.timed = 1
  GROUP BY 1, 2),
baseline AS (
  SELECT search, label, min(speedup) AS speedup FROM (
    SELECT search, label, speedup FROM turned
    UNION ALL
    SELECT e.search_id AS search, m.label, exp(sum(w.weight * ln(m.median_ns)) / sum(w.weight)) / c.score_ns AS speedup
    FROM champion c JOIN evaluations e ON e.search_id = c.search JOIN measurements m ON m.evaluation_id = e.id
    JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
    WHERE m.role = 'baseline' AND m.cold = 1 AND iif(json_valid(e.request), e.request ->> '$.library', NULL) IS NULL
      AND NOT EXISTS (SELECT 1 FROM turned t WHERE t.search = c.search AND t.label = m.label)
    GROUP BY e.id, m.label)
  GROUP BY search)
SELECT d.name AS definition, c.device, iif(c.device_kind <> 'emulator', c.score_ns / 1000, NULL) AS best_us, iif(c.device_kind = 'emulator', c.score_ns / 1000, NULL) AS emulated_cost_us,
       round(b.speedup, 2) AS speedup, b.label AS baseline, b.speedup * c.score_ns / 1000 AS baseline_us, round(100 * l.limit_ns / c.score_ns, 1) AS of_limit_pct, l.limit_ns / 1000 AS limit_us,
       (SELECT (t.budgets ->> 'target_ns') / 1000.0 FROM searches t WHERE t.definition_id = c.definition_id AND t.arch = c.arch
          AND t.id IN (SELECT id FROM report_searches) AND t.budgets ->> 'target_ns' IS NOT NULL ORDER BY t.started_at DESC, t.id DESC LIMIT 1) AS target_us,
       c.arch, c.search, c.variant, n.name AS template
FROM champion c JOIN definitions d ON d.id = c.definition_id JOIN variants n ON n.id = c.variant
LEFT JOIN light l ON l.search = c.search AND l.variant = c.variant LEFT JOIN baseline b ON b.search = c.search
ORDER BY definition, c.device;

-- @shapes The same results shape by shape
WITH best AS (
  SELECT search, evaluation, min(score_ns) FROM report_champions WHERE reported AND device_kind = 'cuda' GROUP BY definition_id, device, arch)
SELECT b.definition, b.device, b.workload, b.variant, b.latency_ms * 1000 AS time_us, nullif(b.throughput_tflops, 0) AS throughput_tflops,
       b.memory_bandwidth_gbs AS bandwidth_gbps, b.speedup_vs_naive, b.speedup_vs_pytorch, b.pct_of_reference AS of_reference_pct
FROM best JOIN benchmark_results b ON b.search = best.search AND b.evaluation = best.evaluation
WHERE b.cold = 1 AND b.latency_ms IS NOT NULL
GROUP BY b.definition, b.device, b.workload
ORDER BY b.definition, b.device, b.workload LIMIT 200;

-- @sets How near sets of kernels come to the best known point of each shape
WITH best AS (
  SELECT search, variant, min(score_ns) FROM report_champions WHERE reported GROUP BY definition_id, device, arch)
SELECT d.name AS definition, k.variant_id AS variant, (SELECT count(*) FROM set_members m WHERE m.set_id = k.id) AS members,
       k.mean_ratio, k.worst_ratio, k.regret AS unseen_ratio, k.regret_low AS unseen_low_ratio, k.regret_high AS unseen_high_ratio,
       k.held_out_shapes AS unseen_shapes, k.prepared_copies
FROM best b JOIN set_searches t ON t.search_id = b.search JOIN kernel_sets k ON k.id = t.set_id JOIN definitions d ON d.id = k.definition_id
WHERE k.variant_id = b.variant
ORDER BY d.name, k.variant_id;

-- @members Which kernel of a set takes which shape
WITH best AS (
  SELECT definition_id, variant, min(score_ns) FROM report_champions WHERE reported GROUP BY definition_id, device, arch)
SELECT d.name AS definition, m.variant, m.number, m.condition AS shapes, m.member, v.name AS template, v.tunables
FROM (SELECT DISTINCT definition_id, variant FROM best) b JOIN kernel_members m ON m.variant = b.variant
JOIN variants v ON v.id = m.member JOIN definitions d ON d.id = b.definition_id
WHERE m.member <> m.variant
ORDER BY d.name, m.variant, m.number;
