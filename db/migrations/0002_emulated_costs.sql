-- Schema version 2. Costs that the CPU emulator estimates have columns of their own: what is called a score, a
-- latency or a rate in a view is a time that a GPU took, else NULL.

DROP VIEW leaderboard;
DROP VIEW best_variants;
DROP VIEW progress;
DROP VIEW experiments;
DROP VIEW benchmark_results;

-- One row an evaluation that was timed or counted, best first within a definition and device.
CREATE VIEW leaderboard AS
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN e.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN e.score_ns / 1000.0 END AS emulated_cost_us,
       e.status, e.session_id AS session,
       rank() OVER (PARTITION BY d.id, dev.id, s.arch ORDER BY e.score_ns) AS place
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN sessions s ON s.id = e.session_id JOIN devices dev ON dev.id = e.device_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL
ORDER BY definition, device, e.score_ns;

-- The champion each session ended with.
CREATE VIEW best_variants AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.best_variant_id AS variant, v.name AS template,
       v.tunables, CASE WHEN dev.kind <> 'emulator' THEN min(e.score_ns) / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN min(e.score_ns) / 1000.0 END AS emulated_cost_us, s.started_at, s.command
FROM sessions s
JOIN variants v ON v.id = s.best_variant_id JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.session_id = s.id AND e.variant_id = v.id AND e.status = 'ok'
GROUP BY s.id;

-- Every evaluation of a session in order, with the best score so far.
CREATE VIEW progress AS
SELECT session, iteration, variant, status, device_kind,
       CASE WHEN device_kind <> 'emulator' THEN score_us END AS score_us,
       CASE WHEN device_kind <> 'emulator' THEN best_us END AS best_so_far_us,
       CASE WHEN device_kind = 'emulator' THEN score_us END AS emulated_cost_us,
       CASE WHEN device_kind = 'emulator' THEN best_us END AS best_emulated_cost_us, ended_at
FROM (SELECT e.id, e.session_id AS session, p.iteration, e.variant_id AS variant, e.status, dev.kind AS device_kind,
             e.score_ns / 1000.0 AS score_us,
             min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (PARTITION BY e.session_id ORDER BY e.id) / 1000.0 AS best_us,
             e.ended_at
      FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id)
ORDER BY session, id;

-- One row a session: what was tried and what came of it.
CREATE VIEW experiments AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       count(e.id) AS evaluations, count(*) FILTER (WHERE e.status = 'ok') AS verified,
       CASE WHEN dev.kind <> 'emulator' THEN min(CASE WHEN e.status = 'ok' THEN e.score_ns END) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN min(CASE WHEN e.status = 'ok' THEN e.score_ns END) / 1000.0 END AS best_emulated_cost_us,
       s.started_at, s.ended_at, s.command
FROM sessions s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.session_id = s.id
GROUP BY s.id;

-- One row an evaluation and workload it touched, in the terms benchmark suites use; an evaluation that reached no
-- workload (compiled_only, compile_error, ...) has one row without workload. NULL where not known.
CREATE VIEW benchmark_results AS
WITH baselines AS (
  SELECT e.session_id, m.workload_id, m.cold,
         min(m.median_ns) FILTER (WHERE m.label = 'naive') AS naive_ns,
         min(m.median_ns) FILTER (WHERE m.label LIKE 'pytorch%') AS pytorch_ns,
         min(m.median_ns) AS fastest_ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id
  WHERE m.role = 'baseline' AND m.method <> 'emulator'
  GROUP BY e.session_id, m.workload_id, m.cold)
SELECT d.name AS definition, w.name AS workload, v.id AS variant, v.name AS template, v.tunables, dev.name AS device,
       e.session_id AS session, e.id AS evaluation, e.status, m.method, m.cold,
       CASE WHEN e.status = 'ok' THEN 1
            WHEN e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race') THEN 0
            ELSE (SELECT min(c.passed) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) END AS output_correct,
       (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS max_error,
       (SELECT avg(c.mean_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS mean_error,
       w.flops / iif(m.method <> 'emulator', m.median_ns, NULL) / 1000.0 AS throughput_tflops,
       iif(m.method <> 'emulator', m.median_ns, NULL) / 1e6 AS latency_ms,
       iif(m.method = 'emulator', m.median_ns, NULL) / 1000.0 AS emulated_cost_us,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) AS memory_bandwidth_gbs,
       e.occupancy_ratio AS occupancy,
       (SELECT k.value FROM metrics k WHERE k.evaluation_id = e.id AND k.name = 'sm/efficiency'
        AND (k.workload_id IS NULL OR k.workload_id = w.id) ORDER BY k.workload_id DESC LIMIT 1) AS sm_efficiency,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) / nullif(dev.peak_bandwidth_gbps, 0) AS memory_efficiency,
       (SELECT max(b.registers) FROM build_kernels b WHERE b.build_id = e.build_id) AS register_usage,
       (SELECT max(b.static_shared_bytes) FROM build_kernels b WHERE b.build_id = e.build_id) AS shared_mem_usage,
       base.naive_ns / m.median_ns AS speedup_vs_naive,
       base.pytorch_ns / m.median_ns AS speedup_vs_pytorch,
       100.0 * base.fastest_ns / m.median_ns AS pct_of_reference
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN workloads w ON w.definition_id = d.id
  AND (EXISTS (SELECT 1 FROM measurements x WHERE x.evaluation_id = e.id AND x.workload_id = w.id AND x.role = 'candidate')
       OR EXISTS (SELECT 1 FROM checks x WHERE x.evaluation_id = e.id AND x.workload_id = w.id))
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate'
LEFT JOIN baselines base ON base.session_id = e.session_id AND base.workload_id = w.id AND base.cold = m.cold;
