-- Schema version 9. Evaluations of arm "profile" hold hardware metrics and nothing else.

DROP VIEW progress;
DROP VIEW experiments;
DROP VIEW benchmark_results;

-- Every evaluation of a session's search in order, with the best score so far.
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
      FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile'))
ORDER BY session, id;

-- One row a session: what was tried and what came of it. The best is the champion's last measurement.
CREATE VIEW experiments AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       count(e.id) AS evaluations, count(*) FILTER (WHERE e.status = 'ok') AS verified,
       CASE WHEN dev.kind <> 'emulator' THEN
         coalesce((SELECT f.score_ns FROM evaluations f JOIN proposals q ON q.id = f.proposal_id
                   WHERE f.session_id = s.id AND f.variant_id = s.best_variant_id AND f.status = 'ok' AND q.arm = 'final'),
                  min(CASE WHEN e.status = 'ok' THEN e.score_ns END)) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN min(CASE WHEN e.status = 'ok' THEN e.score_ns END) / 1000.0 END AS best_emulated_cost_us,
       s.started_at, s.ended_at, s.command
FROM sessions s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.session_id = s.id
  AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('held_out', 'comparison', 'examination', 'final', 'profile'))
GROUP BY s.id;

-- One row an evaluation and workload it touched, by its cold times, in the terms benchmark suites use; an evaluation that reached no
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
       CASE WHEN e.status IN ('ok', 'duplicate') THEN 1
            WHEN e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race') THEN 0
            ELSE (SELECT min(c.passed) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) END AS output_correct,
       (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS max_error,
       (SELECT avg(c.mean_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS mean_error,
       w.flops / iif(m.method <> 'emulator', m.median_ns, NULL) / 1000.0 AS throughput_tflops,
       iif(m.method <> 'emulator', m.median_ns, NULL) / 1e6 AS latency_ms,
       iif(m.method = 'emulator', m.median_ns, NULL) / 1000.0 AS emulated_cost_us,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) AS memory_bandwidth_gbs,
       e.occupancy_ratio AS occupancy,
       (SELECT avg(a.value / c.value) FROM evaluations f JOIN proposals q ON q.id = f.proposal_id AND q.arm = 'profile'
        JOIN metrics a ON a.evaluation_id = f.id AND a.workload_id = w.id AND a.name = 'time/active_cycles'
        JOIN metrics c ON c.evaluation_id = f.id AND c.workload_id = w.id AND c.kernel = a.kernel AND c.name = 'time/cycles'
        WHERE f.session_id = e.session_id AND f.variant_id = e.variant_id) AS sm_efficiency,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) / nullif(dev.peak_bandwidth_gbps, 0) AS memory_efficiency,
       (SELECT max(b.registers) FROM build_kernels b WHERE b.build_id = e.build_id) AS register_usage,
       coalesce(e.shared_bytes, (SELECT max(b.static_shared_bytes) FROM build_kernels b WHERE b.build_id = e.build_id)) AS shared_mem_usage,
       base.naive_ns / m.median_ns AS speedup_vs_naive,
       base.pytorch_ns / m.median_ns AS speedup_vs_pytorch,
       100.0 * base.fastest_ns / m.median_ns AS pct_of_reference
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN workloads w ON w.definition_id = d.id
  AND (EXISTS (SELECT 1 FROM measurements x WHERE x.evaluation_id = e.id AND x.workload_id = w.id AND x.role = 'candidate')
       OR EXISTS (SELECT 1 FROM checks x WHERE x.evaluation_id = e.id AND x.workload_id = w.id))
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate' AND m.cold = 1
LEFT JOIN baselines base ON base.session_id = e.session_id AND base.workload_id = w.id AND base.cold = m.cold
WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('comparison', 'examination', 'profile'));

-- One row a launch that was profiled, with what most questions begin with; the rest is in metrics.
CREATE VIEW profiles AS
SELECT e.session_id AS session, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, dev.name AS device,
       w.name AS workload, m.kernel,
       max(m.value) FILTER (WHERE m.name = 'time/duration') / 1000.0 AS duration_us,
       max(m.value) FILTER (WHERE m.name = 'dram/throughput') AS dram_pct,
       max(m.value) FILTER (WHERE m.name = 'l2/sector_rate') AS l2_pct,
       max(m.value) FILTER (WHERE m.name = 'pipe/tensor') AS tensor_pct,
       max(m.value) FILTER (WHERE m.name = 'issue/active') AS issue_pct,
       max(m.value) FILTER (WHERE m.name = 'occupancy/achieved') AS occupancy_pct,
       max(m.value) FILTER (WHERE m.name = 'dram/bytes_read') AS dram_read_bytes,
       max(m.value) FILTER (WHERE m.name = 'dram/bytes_written') AS dram_written_bytes,
       max(m.value) FILTER (WHERE m.name = 'shared/bank_conflicts') AS bank_conflicts
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'profile'
JOIN metrics m ON m.evaluation_id = e.id JOIN workloads w ON w.id = m.workload_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
GROUP BY e.id, w.id, m.kernel;
