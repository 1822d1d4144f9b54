-- Schema version 23. Kernels that were timed in turns with baselines: what a speed-up is claimed from. Libraries and
-- versions of PyTorch are told apart by the label and the settings; times of the host have a column of their own.

CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  label TEXT NOT NULL,
  time_column TEXT NOT NULL CHECK (time_column IN ('device', 'wall')),
  ratio REAL NOT NULL CHECK (ratio > 0),
  ci_low REAL NOT NULL,
  ci_high REAL NOT NULL,
  kernel_ns REAL NOT NULL,
  baseline_ns REAL NOT NULL,
  rounds INTEGER NOT NULL,
  kernel_late INTEGER NOT NULL,
  baseline_late INTEGER NOT NULL,
  kernel_peak_bytes INTEGER,
  baseline_peak_bytes INTEGER,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  timed_at TEXT NOT NULL
) STRICT;
CREATE INDEX turns_by_workload ON turns (workload_id, evaluation_id);

-- The last turns of each variant of a search with each baseline, on each workload, by each kind of times.
CREATE VIEW baseline_turns AS
SELECT e.search_id AS search, d.name AS definition, dev.name AS device, e.variant_id AS variant, t.evaluation_id AS evaluation,
       t.workload_id, w.name AS workload, t.label AS baseline, t.time_column AS times, t.ratio AS speedup, t.ci_low AS low,
       t.ci_high AS high, t.kernel_ns / 1000.0 AS kernel_us, t.baseline_ns / 1000.0 AS baseline_us, t.rounds, t.kernel_late,
       t.baseline_late, t.kernel_peak_bytes, t.baseline_peak_bytes, t.settings, t.timed_at
FROM turns t JOIN evaluations e ON e.id = t.evaluation_id JOIN workloads w ON w.id = t.workload_id
JOIN definitions d ON d.id = w.definition_id JOIN devices dev ON dev.id = e.device_id
WHERE NOT EXISTS (SELECT 1 FROM turns u JOIN evaluations f ON f.id = u.evaluation_id
                  WHERE u.workload_id = t.workload_id AND u.label = t.label AND u.time_column = t.time_column
                    AND f.search_id = e.search_id AND f.variant_id = e.variant_id
                    AND (u.timed_at > t.timed_at OR u.timed_at = t.timed_at AND u.id > t.id));

-- With speed-ups over PyTorch from turns, where there are some.
DROP VIEW benchmark_results;
CREATE VIEW benchmark_results AS
WITH baselines AS (
  SELECT e.search_id, m.workload_id, m.cold,
         min(m.median_ns) FILTER (WHERE m.label = 'naive') AS naive_ns,
         min(m.median_ns) FILTER (WHERE m.label LIKE 'pytorch%') AS pytorch_ns,
         min(m.median_ns) AS fastest_ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id
  WHERE m.role = 'baseline' AND m.method <> 'emulator'
  GROUP BY e.search_id, m.workload_id, m.cold)
SELECT d.name AS definition, w.name AS workload, v.id AS variant, v.name AS template, v.tunables, dev.name AS device,
       e.search_id AS search, e.id AS evaluation, e.status, m.method, m.cold,
       CASE WHEN e.status IN ('ok', 'duplicate') THEN 1
            WHEN e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race') THEN 0
            ELSE (SELECT min(c.failed = 0) FROM check_figures c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) END AS output_correct,
       (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS max_error,
       (SELECT sum(c.mean_error * c.checks) / sum(iif(c.mean_error IS NULL, NULL, c.checks)) FROM check_figures c
        WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS mean_error,
       w.flops / iif(m.method <> 'emulator', m.median_ns, NULL) / 1000.0 AS throughput_tflops,
       iif(m.method <> 'emulator', m.median_ns, NULL) / 1e6 AS latency_ms,
       iif(m.method = 'emulator', m.median_ns, NULL) / 1000.0 AS emulated_cost_us,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) AS memory_bandwidth_gbs,
       e.occupancy_ratio AS occupancy,
       (SELECT avg(a.value / c.value) FROM evaluations f JOIN proposals q ON q.id = f.proposal_id AND q.arm = 'profile'
        JOIN metrics a ON a.evaluation_id = f.id AND a.workload_id = w.id AND a.name = 'time/active_cycles'
        JOIN metrics c ON c.evaluation_id = f.id AND c.workload_id = w.id AND c.kernel = a.kernel AND c.name = 'time/cycles'
        WHERE f.search_id = e.search_id AND f.variant_id = e.variant_id) AS sm_efficiency,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) / nullif(dev.peak_bandwidth_gbps, 0) AS memory_efficiency,
       (SELECT max(b.registers) FROM build_kernels b WHERE b.build_id = e.build_id) AS register_usage,
       coalesce(e.shared_bytes, (SELECT max(b.static_shared_bytes) FROM build_kernels b WHERE b.build_id = e.build_id)) AS shared_mem_usage,
       base.naive_ns / m.median_ns AS speedup_vs_naive,
       coalesce((SELECT min(t.speedup) FROM baseline_turns t WHERE t.search = e.search_id AND t.variant = e.variant_id
                 AND t.workload_id = w.id AND t.baseline LIKE 'pytorch%' AND t.times = 'device'),
                base.pytorch_ns / m.median_ns) AS speedup_vs_pytorch,
       100.0 * base.fastest_ns / m.median_ns AS pct_of_reference
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN workloads w ON w.definition_id = d.id
  AND (EXISTS (SELECT 1 FROM measurements x WHERE x.evaluation_id = e.id AND x.workload_id = w.id AND x.role = 'candidate')
       OR EXISTS (SELECT 1 FROM evaluation_checks x WHERE x.evaluation_id = e.id AND x.workload_id = w.id))
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate' AND m.cold = 1
LEFT JOIN baselines base ON base.search_id = e.search_id AND base.workload_id = w.id AND base.cold = m.cold
WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('comparison', 'examination', 'profile'));

-- Pairs with a library are turns with a baseline.
DROP VIEW comparisons;
-- One row a pair of candidates that were timed in turns.
CREATE VIEW comparisons AS
SELECT e.search_id AS search, d.name AS definition, dev.name AS device, e.id AS evaluation, w.name AS workload,
       e.variant_id AS challenger, CAST(e.request ->> '$.tag' AS INTEGER) AS champion,
       a.median_ns / 1000.0 AS challenger_us, b.median_ns / 1000.0 AS champion_us, a.median_ns / b.median_ns AS ratio,
       length(a.samples) / 4 AS pairs, e.status, e.message
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'comparison'
  AND e.request ->> '$.library' IS NULL
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN measurements a ON a.evaluation_id = e.id AND a.role = 'candidate'
LEFT JOIN measurements b ON b.evaluation_id = e.id AND b.role = 'champion' AND b.workload_id = a.workload_id
LEFT JOIN workloads w ON w.id = a.workload_id
ORDER BY e.id;
