-- Schema version 18. One run of the loop is a search, a queue of searches a session: the tables are called what the
-- programs call them. The table `sessions` had the searches before, and `campaigns` the sessions.
-- What refers to them is made again, for its own names; renaming copies no rows.

DROP TRIGGER evaluation_added;
DROP TRIGGER leader_judged;
DROP TRIGGER evaluation_changed;
DROP TRIGGER evaluation_removed;
DROP VIEW pareto_front;
DROP VIEW strategies;
DROP VIEW llm_yield;
DROP VIEW profiles;
DROP VIEW generalisation;
DROP VIEW experiments;
DROP VIEW best_variants;
DROP VIEW leaderboard;
DROP VIEW session_figures_defined;
DROP VIEW scores_defined;
DROP VIEW hypervolume;
DROP VIEW llm_arms;
DROP VIEW benchmark_results;
DROP VIEW progress;
DROP VIEW prediction_errors;
DROP VIEW failures;
DROP VIEW superseded;
DROP VIEW comparisons;
DROP VIEW stage_time_summary;
DROP VIEW spend;
DROP INDEX proposals_by_session;
DROP INDEX evaluations_by_session;
DROP INDEX llm_calls_by_session;
DROP INDEX sessions_by_start;

ALTER TABLE sessions RENAME TO searches;
ALTER TABLE campaigns RENAME TO sessions;
ALTER TABLE llm_calls RENAME COLUMN session_id TO search_id;
ALTER TABLE proposals RENAME COLUMN session_id TO search_id;
ALTER TABLE evaluations RENAME COLUMN session_id TO search_id;
ALTER TABLE insights RENAME COLUMN session_id TO search_id;
ALTER TABLE campaign_runs RENAME COLUMN session_id TO search_id;
ALTER TABLE scores RENAME COLUMN session_id TO search_id;
ALTER TABLE session_figures RENAME COLUMN session_id TO search_id;
ALTER TABLE campaign_runs RENAME COLUMN campaign_id TO session_id;
ALTER TABLE campaign_runs RENAME TO session_searches;
ALTER TABLE session_figures RENAME TO search_figures;

CREATE INDEX proposals_by_search ON proposals (search_id, iteration);
CREATE INDEX evaluations_by_search ON evaluations (search_id);
-- Of two indexes that look equally good SQLite takes the newer one: that of variants has fewer rows for a value.
DROP INDEX evaluations_by_variant;
CREATE INDEX evaluations_by_variant ON evaluations (variant_id);
CREATE INDEX llm_calls_by_search ON llm_calls (search_id, model, arm, credited_arm, reward, input_tokens, output_tokens, cost_usd);
CREATE INDEX searches_by_start ON searches (started_at);

-- Tokens and money of each search.
CREATE VIEW spend AS
SELECT search_id AS search, model, count(*) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM llm_calls GROUP BY search_id, model;

-- Where the time of each search went, mean milliseconds an evaluation.
CREATE VIEW stage_time_summary AS
SELECT search_id AS search, count(*) AS evaluations, avg(queue_ms) AS queue_ms, avg(build_ms) AS build_ms, avg(device_wait_ms) AS device_wait_ms,
       avg(check_ms) AS check_ms, avg(time_ms) AS time_ms, avg(gpu_busy_ms) AS gpu_busy_ms, avg(total_ms) AS total_ms, sum(gpu_busy_ms) AS gpu_busy_total_ms
FROM evaluations GROUP BY search_id;

-- One row a pair of candidates that were timed in turns.
CREATE VIEW comparisons AS
SELECT e.search_id AS search, d.name AS definition, dev.name AS device, e.id AS evaluation, w.name AS workload,
       e.variant_id AS challenger, CAST(e.request ->> '$.tag' AS INTEGER) AS champion,
       a.median_ns / 1000.0 AS challenger_us, b.median_ns / 1000.0 AS champion_us, a.median_ns / b.median_ns AS ratio,
       length(a.samples) / 4 AS pairs, e.status, e.message
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'comparison'
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN measurements a ON a.evaluation_id = e.id AND a.role = 'candidate'
LEFT JOIN measurements b ON b.evaluation_id = e.id AND b.role = 'champion' AND b.workload_id = a.workload_id
LEFT JOIN workloads w ON w.id = a.workload_id
ORDER BY e.id;

-- Evaluations whose times another one of the same variant and search replaces, or which it shows to be worth nothing,
-- and those of comparisons.
CREATE VIEW superseded AS
SELECT e.id AS evaluation
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE p.arm = 'comparison'
   OR EXISTS (SELECT 1 FROM evaluations f JOIN proposals q ON q.id = f.proposal_id
              WHERE f.variant_id = e.variant_id AND f.search_id = e.search_id AND f.id > e.id
                AND (q.arm = 'final' AND f.status = 'ok'
                     OR q.arm IN ('held_out', 'comparison', 'examination', 'final')
                        AND f.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race', 'hang',
                                         'launch_error', 'below_floor')));

-- What failed, where and why.
CREATE VIEW failures AS
SELECT e.search_id AS search, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, e.status, e.stage, e.gate, e.message
FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted');

-- One row a predicted call, next to what was measured where it was.
CREATE VIEW prediction_errors AS
SELECT e.search_id AS search, d.name AS definition, v.name AS template, p.variant_id AS variant, w.name AS workload, e.status,
       p.model, p.limiter, p.predicted_ns / 1000.0 AS predicted_us, p.low_ns / 1000.0 AS low_us, p.high_ns / 1000.0 AS high_us,
       m.median_ns / 1000.0 AS measured_us, p.predicted_ns / m.median_ns - 1 AS error,
       m.median_ns BETWEEN p.low_ns AND p.high_ns AS in_interval
FROM predictions p JOIN evaluations e ON e.id = p.evaluation_id JOIN variants v ON v.id = p.variant_id
JOIN workloads w ON w.id = p.workload_id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate' AND m.cold = 1
  AND m.method <> 'emulator';

-- Every evaluation of a search in order, with the best score so far.
CREATE VIEW progress AS
SELECT search, iteration, variant, status, device_kind,
       CASE WHEN device_kind <> 'emulator' THEN score_us END AS score_us,
       CASE WHEN device_kind <> 'emulator' THEN best_us END AS best_so_far_us,
       CASE WHEN device_kind = 'emulator' THEN score_us END AS emulated_cost_us,
       CASE WHEN device_kind = 'emulator' THEN best_us END AS best_emulated_cost_us, ended_at
FROM (SELECT e.id, e.search_id AS search, p.iteration, e.variant_id AS variant, e.status, dev.kind AS device_kind,
             e.score_ns / 1000.0 AS score_us,
             min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (PARTITION BY e.search_id ORDER BY e.id) / 1000.0 AS best_us,
             e.ended_at
      FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile'))
ORDER BY search, id;

-- One row an evaluation and workload it touched, by its cold times, in the terms benchmark suites use; an evaluation that reached no
-- workload (compiled_only, compile_error, ...) has one row without workload. NULL where not known.
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
        WHERE f.search_id = e.search_id AND f.variant_id = e.variant_id) AS sm_efficiency,
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
LEFT JOIN baselines base ON base.search_id = e.search_id AND base.workload_id = w.id AND base.cold = m.cold
WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('comparison', 'examination', 'profile'));

-- The bandit's arms: a row a search, model and arm. An exchange is a question with its repeats and repairs.
CREATE VIEW llm_arms AS
SELECT search_id AS search, model, credited_arm AS arm, count(reward) AS exchanges, count(*) AS calls,
       avg(reward) AS mean_reward, sum(reward >= 0.5) AS took_the_lead, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM llm_calls WHERE credited_arm IS NOT NULL
GROUP BY search_id, model, credited_arm;

-- Of the front of time and one other objective, both as shares of the worst on the front: the part of the unit square that
-- the front dominates. 0 where the front is one point.
CREATE VIEW hypervolume AS
WITH points AS (
  SELECT definition, device, device_kind, arch, coalesce(score_us, emulated_cost_us) AS time, energy_joule, max_error, shared_bytes
  FROM pareto_front),
pairs AS (
  SELECT definition, device, device_kind, arch, 'energy_joule' AS objective, time, energy_joule AS value FROM points
  UNION ALL SELECT definition, device, device_kind, arch, 'max_error', time, max_error FROM points
  UNION ALL SELECT definition, device, device_kind, arch, 'shared_bytes', time, shared_bytes FROM points),
scaled AS (
  SELECT *, time / max(time) OVER front AS x, coalesce(value / nullif(1.0 * max(value) OVER front, 0), 0) AS y
  FROM pairs WHERE value IS NOT NULL WINDOW front AS (PARTITION BY definition, device, device_kind, arch, objective)),
steps AS (
  SELECT *, coalesce(min(y) OVER (PARTITION BY definition, device, device_kind, arch, objective ORDER BY x, y
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS above
  FROM scaled)
SELECT definition, device, device_kind, arch, objective, count(*) AS points, sum(max(0, above - y) * (1 - x)) AS hypervolume
FROM steps GROUP BY definition, device, device_kind, arch, objective;

-- What the two tables hold by definition: `alphakernel db verify` compares.
CREATE VIEW scores_defined AS
SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id AS evaluation_id, e.search_id, e.variant_id, e.shared_bytes,
       p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile') AS searched
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN searches s ON s.id = e.search_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id);

CREATE VIEW search_figures_defined AS
SELECT e.search_id, count(*) AS evaluations, sum(x.searched) AS searched, sum(x.searched AND e.status = 'ok') AS verified,
       min(CASE WHEN x.searched AND e.status = 'ok' THEN e.score_ns END) AS best_ns
FROM evaluations e
JOIN (SELECT id, arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS searched FROM proposals) x
  ON x.id = e.proposal_id
GROUP BY e.search_id;

-- One row an evaluation that was timed or counted, best first within a definition and device.
CREATE VIEW leaderboard AS
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, r.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN r.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN r.score_ns / 1000.0 END AS emulated_cost_us,
       'ok' AS status, r.search_id AS search, r.place
FROM (SELECT definition_id, device_id, arch, score_ns, search_id, variant_id,
             rank() OVER (PARTITION BY definition_id, device_id, arch ORDER BY score_ns) AS place FROM scores) r
JOIN definitions d ON d.id = r.definition_id JOIN devices dev ON dev.id = r.device_id JOIN variants v ON v.id = r.variant_id
ORDER BY definition, device, r.score_ns;

-- The champion each search ended with.
CREATE VIEW best_variants AS
SELECT search, definition, device, device_kind, arch, variant, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN best_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN best_ns / 1000.0 END AS emulated_cost_us, started_at, command
FROM (SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch,
             s.best_variant_id AS variant, v.name AS template, v.tunables,
             (SELECT min(e.score_ns) FROM evaluations e
              WHERE e.variant_id = v.id AND +e.search_id = s.id AND e.status = 'ok'
                AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)) AS best_ns,
             s.started_at, s.command
      FROM searches s
      JOIN variants v ON v.id = s.best_variant_id JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id)
ORDER BY search;

-- One row a search: what was tried and what came of it. The best is the champion's last measurement.
CREATE VIEW experiments AS
SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       coalesce(f.searched, 0) AS evaluations, coalesce(f.verified, 0) AS verified,
       CASE WHEN dev.kind <> 'emulator' THEN
         coalesce((SELECT e.score_ns FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
                   WHERE e.variant_id = s.best_variant_id AND +e.search_id = s.id AND e.status = 'ok' AND p.arm = 'final'),
                  f.best_ns) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN f.best_ns / 1000.0 END AS best_emulated_cost_us,
       s.started_at, s.ended_at, s.command
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN search_figures f ON f.search_id = s.id
ORDER BY s.id;

-- One row a candidate that was checked on held-out shapes when its search ended.
CREATE VIEW generalisation AS
SELECT search, definition, device_kind, variant, template, tunables, evaluation, status, message, shapes, passed,
       1.0 * passed / shapes AS share, drawn
FROM (SELECT e.search_id AS search, d.name AS definition, dev.kind AS device_kind, v.id AS variant, v.name AS template,
             v.tunables, e.id AS evaluation, e.status, e.message, json_array_length(e.request, '$.workloads') AS shapes,
             CASE WHEN e.status IN ('ok', 'duplicate') THEN json_array_length(e.request, '$.workloads')
                  ELSE max(0, (SELECT count(DISTINCT c.workload_id) FROM checks c WHERE c.evaluation_id = e.id) - 1) END AS passed,
             e.request ->> '$.tag' AS drawn
      FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
      JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm = 'held_out')
ORDER BY search, evaluation;

-- One row a launch that was profiled, with what most questions begin with; the rest is in metrics.
CREATE VIEW profiles AS
SELECT p.search_id AS search, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, dev.name AS device,
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
FROM proposals p CROSS JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id AND e.search_id = p.search_id
CROSS JOIN metrics m ON m.evaluation_id = e.id JOIN workloads w ON w.id = m.workload_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
WHERE p.arm = 'profile'
GROUP BY p.search_id, e.id, w.id, m.kernel;

-- What every prompt of every model was worth: a row a search, model and arm.
CREATE VIEW llm_yield AS
SELECT c.search_id AS search, c.model, c.arm, count(DISTINCT c.id) AS calls, count(DISTINCT p.variant_id) AS candidates,
       count(DISTINCT CASE WHEN e.status = 'ok' THEN p.variant_id END) AS verified,
       min(CASE WHEN e.status = 'ok' AND dev.kind <> 'emulator' THEN e.score_ns END) / 1000.0 AS best_us,
       min(CASE WHEN e.status = 'ok' AND dev.kind = 'emulator' THEN e.score_ns END) / 1000.0 AS best_emulated_cost_us
FROM llm_calls c LEFT JOIN proposals p ON p.llm_call_id = c.id
LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
LEFT JOIN devices dev ON dev.id = e.device_id
GROUP BY c.search_id, c.model, c.arm;

-- One row a search with a strategy: how soon it came near the best that is known of this problem on this device.
CREATE VIEW strategies AS
WITH searched AS (
  SELECT e.search_id, e.score_ns, e.status IN ('ok', 'duplicate') AS passed, p.ask_ns, p.tell_ns, p.asked_ms, p.told_ms,
         row_number() OVER (PARTITION BY e.search_id ORDER BY e.id) AS number
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AND e.status <> 'pruned'),
known AS MATERIALIZED (
  SELECT *, (SELECT c.score_ns FROM scores c JOIN searches t ON t.id = c.search_id AND t.device_id = c.device_id
             WHERE c.definition_id = s.definition_id AND c.device_id = s.device_id AND c.arch = s.arch AND c.searched = 1
               AND t.workloads_hash IS s.workloads_hash
             ORDER BY c.score_ns LIMIT 1) AS best_ns
  FROM (SELECT DISTINCT definition_id, device_id, arch, workloads_hash FROM searches) s)
SELECT s.id AS search, s.strategy, s.seed, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.resumed,
       count(*) AS evaluations, sum(x.passed) AS passed,
       min(CASE WHEN x.passed AND x.score_ns <= 1.05 * k.best_ns THEN x.number END) AS evaluations_to_5_percent,
       min(CASE WHEN x.passed AND x.score_ns <= 1.01 * k.best_ns THEN x.number END) AS evaluations_to_1_percent,
       min(CASE WHEN x.passed AND x.score_ns <= 1.05 * k.best_ns THEN x.told_ms END) / 1000.0 AS seconds_to_5_percent,
       CASE WHEN dev.kind <> 'emulator' THEN min(CASE WHEN x.passed THEN x.score_ns END) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN min(CASE WHEN x.passed THEN x.score_ns END) / 1000.0 END AS best_emulated_cost_us,
       min(CASE WHEN x.passed THEN x.score_ns END) / k.best_ns AS best_over_known,
       avg(x.ask_ns) / 1000.0 AS ask_us, avg(x.tell_ns) / 1000.0 AS tell_us
FROM searched x JOIN searches s ON s.id = x.search_id
JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN known k ON k.definition_id = s.definition_id AND k.device_id = s.device_id AND k.arch = s.arch
  AND k.workloads_hash IS s.workloads_hash
WHERE s.proposer = 'search'
GROUP BY s.id;

-- Of the points whose energy is not known, only those can be on the front, or keep others from it, that no point of
-- the same shared memory beats in time and error: few. Being beaten passes on from point to point among them.
CREATE VIEW pareto_front AS
WITH shaped AS MATERIALIZED (  -- a number for the hash, which is long
  SELECT id, device_id, min(id) OVER (PARTITION BY workloads_hash) AS shapes FROM searches),
best AS (
  SELECT c.definition_id, c.device_id, c.arch, s.shapes, c.variant_id, c.search_id, min(c.score_ns) AS score_ns,
         c.shared_bytes, c.evaluation_id
  FROM scores c CROSS JOIN shaped s ON s.id = c.search_id AND s.device_id = c.device_id
  WHERE c.searched = 1
  GROUP BY c.variant_id, c.device_id, c.arch, s.shapes),
measured AS (
  SELECT *, (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = b.evaluation_id) AS max_error,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = b.evaluation_id AND k.name = 'energy/joule') AS energy_joule
  FROM best b),
stairs AS (
  SELECT *, min(coalesce(max_error, 0)) OVER (
           PARTITION BY definition_id, device_id, arch, shapes, energy_joule IS NULL, coalesce(shared_bytes, 0)
           ORDER BY score_ns, coalesce(max_error, 0) GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS error_before
  FROM measured),
points AS MATERIALIZED (
  SELECT * FROM stairs WHERE energy_joule IS NOT NULL OR coalesce(coalesce(max_error, 0) < error_before, 1))
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, a.arch, a.search_id AS search, v.id AS variant,
       v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN a.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN a.score_ns / 1000.0 END AS emulated_cost_us,
       a.energy_joule, a.max_error, a.shared_bytes
FROM points a JOIN variants v ON v.id = a.variant_id JOIN definitions d ON d.id = a.definition_id
JOIN devices dev ON dev.id = a.device_id
WHERE NOT EXISTS (
  SELECT 1 FROM points b
  WHERE b.definition_id = a.definition_id AND b.device_id = a.device_id AND b.arch = a.arch AND b.shapes = a.shapes
    AND b.score_ns <= a.score_ns AND coalesce(b.max_error, 0) <= coalesce(a.max_error, 0)
    AND coalesce(b.shared_bytes, 0) <= coalesce(a.shared_bytes, 0)
    AND coalesce(b.energy_joule <= a.energy_joule, 1)
    AND (b.score_ns < a.score_ns OR coalesce(b.max_error, 0) < coalesce(a.max_error, 0)
         OR coalesce(b.shared_bytes, 0) < coalesce(a.shared_bytes, 0) OR coalesce(b.energy_joule < a.energy_joule, 0)))
ORDER BY definition, device, a.arch, a.score_ns;

CREATE TRIGGER evaluation_added AFTER INSERT ON evaluations BEGIN
  INSERT INTO scores SELECT * FROM scores_defined WHERE evaluation_id = new.id;
  INSERT INTO search_figures
  SELECT new.search_id, 1, x.searched, x.searched AND new.status = 'ok', CASE WHEN x.searched AND new.status = 'ok' THEN new.score_ns END
  FROM (SELECT arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS searched
        FROM proposals WHERE id = new.proposal_id) x
  WHERE true
  ON CONFLICT (search_id) DO UPDATE SET
    evaluations = evaluations + 1, searched = searched + excluded.searched, verified = verified + excluded.verified,
    best_ns = min(coalesce(best_ns, excluded.best_ns), coalesce(excluded.best_ns, best_ns));
END;

-- What is done to a leader decides about its evaluations before.
CREATE TRIGGER leader_judged AFTER INSERT ON evaluations
WHEN (SELECT arm FROM proposals WHERE id = new.proposal_id) IN ('held_out', 'comparison', 'examination', 'final')
BEGIN
  DELETE FROM scores WHERE (definition_id, device_id, arch, score_ns, evaluation_id) IN (
    SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id
    FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN searches s ON s.id = e.search_id
    WHERE e.variant_id = new.variant_id AND e.search_id = new.search_id AND e.score_ns IS NOT NULL
      AND EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id));
END;

CREATE TRIGGER evaluation_changed
AFTER UPDATE OF search_id, proposal_id, variant_id, device_id, status, score_ns, shared_bytes ON evaluations BEGIN
  DELETE FROM scores
  WHERE definition_id = (SELECT definition_id FROM variants WHERE id = old.variant_id) AND device_id = old.device_id
    AND arch = (SELECT arch FROM searches WHERE id = old.search_id) AND score_ns = old.score_ns AND evaluation_id = old.id;
  DELETE FROM scores WHERE (definition_id, device_id, arch, score_ns, evaluation_id) IN (
    SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id
    FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN searches s ON s.id = e.search_id
    WHERE e.variant_id = new.variant_id AND e.search_id = new.search_id AND e.score_ns IS NOT NULL);
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = old.variant_id AND search_id = old.search_id;
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = new.variant_id AND search_id = new.search_id;
  DELETE FROM search_figures WHERE search_id IN (old.search_id, new.search_id);
  INSERT INTO search_figures SELECT * FROM search_figures_defined WHERE search_id IN (old.search_id, new.search_id);
END;

-- Where the search goes first, as in an export, what is left is taken away at the end.
CREATE TRIGGER evaluation_removed AFTER DELETE ON evaluations
WHEN EXISTS (SELECT 1 FROM searches WHERE id = old.search_id)
BEGIN
  DELETE FROM scores
  WHERE definition_id = (SELECT definition_id FROM variants WHERE id = old.variant_id) AND device_id = old.device_id
    AND arch = (SELECT arch FROM searches WHERE id = old.search_id) AND score_ns = old.score_ns AND evaluation_id = old.id;
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = old.variant_id AND search_id = old.search_id;
  DELETE FROM search_figures WHERE search_id = old.search_id;
  INSERT INTO search_figures SELECT * FROM search_figures_defined WHERE search_id = old.search_id;
END;

-- Names of before that nothing else has now.
CREATE VIEW campaigns AS
SELECT id, uid, name, command, folder, budgets, status, reason, exit_code, stop_requested, started_at,
       ended_at, heartbeat_at
FROM sessions;
CREATE VIEW campaign_runs AS
SELECT id, uid, session_id AS campaign_id, position, name, priority, share, arguments, first_points,
       budgets, model, search_id AS session_id, state, reason, exit_code, evaluations, verified, in_flight,
       tokens, cost_usd, best_ns, baseline, baseline_ns, limit_ns, spent_ms
FROM session_searches;
CREATE VIEW session_figures AS
SELECT search_id AS session_id, evaluations, searched, verified, best_ns
FROM search_figures;
