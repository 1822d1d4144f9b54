-- Schema version 19. Checks are stored once for all evaluations that they came out the same in, and launch plans once
-- for all variants: most of a database were these. One view says what each search came to.

DROP TRIGGER evaluation_added;
DROP VIEW hypervolume;
DROP VIEW pareto_front;
DROP VIEW generalisation;
DROP VIEW experiments;
DROP VIEW best_variants;
DROP VIEW leaderboard;
DROP VIEW search_figures_defined;
DROP VIEW benchmark_results;

-- What the checks of one workload came to, once for all evaluations with the same. `comparisons` is a list of
-- [distribution, tensor, max_error, mean_error, tolerance] for those that passed, errors to four digits, and of
-- [distribution, tensor, max_error, mean_error, tolerance, worst_index, worst_expected, worst_got,
-- nonfinite_mismatches, passed] for the others. The uid is the hash of all other columns.
CREATE TABLE check_groups (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  input_seed INTEGER NOT NULL,
  checks INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  max_error REAL,
  mean_error REAL,
  worst_difference REAL,
  comparisons TEXT NOT NULL CHECK (json_valid(comparisons))
) STRICT;
CREATE TABLE evaluation_checks (
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  group_id INTEGER NOT NULL REFERENCES check_groups (id),
  PRIMARY KEY (evaluation_id, workload_id, group_id)
) WITHOUT ROWID, STRICT;

-- content_uid() is a function of the program.
CREATE TEMP TABLE grouped AS
SELECT evaluation_id, workload_id, input_seed, count(*) AS checks, sum(NOT passed) AS failed, max(max_error) AS max_error,
       avg(mean_error) AS mean_error, max(abs(worst_got - worst_expected)) AS worst_difference,
       '[' || group_concat(
         iif(passed AND nonfinite_mismatches = 0,
             printf('[%s,%s,%s,%s,%s]', name, tensor_name, iif(max_error IS NULL, 'null', printf('%.4g', max_error)),
                    iif(mean_error IS NULL, 'null', printf('%.4g', mean_error)),
                    iif(tolerance IS NULL, 'null', printf('%.4g', tolerance))),
             printf('[%s,%s,%s,%s,%s,%s,%s,%s,%d,%d]', name, tensor_name,
                    iif(max_error IS NULL, 'null', printf('%!.17g', max_error)),
                    iif(mean_error IS NULL, 'null', printf('%!.17g', mean_error)),
                    iif(tolerance IS NULL, 'null', printf('%!.17g', tolerance)), ifnull(worst_index, 'null'),
                    iif(worst_expected IS NULL, 'null', printf('%!.17g', worst_expected)),
                    iif(worst_got IS NULL, 'null', printf('%!.17g', worst_got)), nonfinite_mismatches, passed)), ',')
         || ']' AS comparisons
FROM (SELECT *, json_quote(distribution) AS name, json_quote(tensor) AS tensor_name
      FROM checks ORDER BY evaluation_id, workload_id, id)
GROUP BY evaluation_id, workload_id, input_seed;
ALTER TABLE grouped ADD COLUMN uid BLOB;
UPDATE temp.grouped SET uid = content_uid(json_array(input_seed, checks, failed, max_error, mean_error, worst_difference,
                                                     comparisons));
INSERT OR IGNORE INTO check_groups (uid, input_seed, checks, failed, max_error, mean_error, worst_difference, comparisons)
SELECT uid, input_seed, checks, failed, max_error, mean_error, worst_difference, comparisons FROM temp.grouped;
INSERT OR IGNORE INTO evaluation_checks
SELECT o.evaluation_id, o.workload_id, g.id FROM temp.grouped o JOIN check_groups g ON g.uid = o.uid;
DROP TABLE temp.grouped;
DROP TABLE checks;

-- Every comparison of an output with the reference, as a row.
CREATE VIEW checks AS
SELECT l.evaluation_id, l.workload_id, j.value ->> 0 AS distribution, g.input_seed, j.value ->> 1 AS tensor,
       coalesce(j.value ->> 9, 1) AS passed, CAST(j.value ->> 2 AS REAL) AS max_error,
       CAST(j.value ->> 3 AS REAL) AS mean_error, CAST(j.value ->> 4 AS REAL) AS tolerance,
       j.value ->> 5 AS worst_index, CAST(j.value ->> 6 AS REAL) AS worst_expected,
       CAST(j.value ->> 7 AS REAL) AS worst_got, coalesce(j.value ->> 8, 0) AS nonfinite_mismatches
FROM evaluation_checks l JOIN check_groups g ON g.id = l.group_id, json_each(g.comparisons) j;

-- What the checks of each evaluation and workload came to.
CREATE VIEW check_figures AS
SELECT l.evaluation_id, l.workload_id, g.input_seed, g.checks, g.failed, g.max_error, g.mean_error, g.worst_difference
FROM evaluation_checks l JOIN check_groups g ON g.id = l.group_id;

-- What each search came to: its champion by the last measurement that counts, the final one where there is one; of a
-- search that has named no champion the best that passed and was not found wrong. A search without either has no row.
CREATE VIEW champions AS
SELECT s.id AS search, e.variant_id AS variant, e.id AS evaluation, e.score_ns, p.arm = 'final' AS confirmed
FROM searches s
JOIN evaluations e ON e.id = iif(
  s.best_variant_id IS NOT NULL,
  (SELECT f.id FROM evaluations f JOIN proposals q ON q.id = f.proposal_id
   WHERE f.variant_id = s.best_variant_id AND +f.search_id = s.id AND f.device_id = s.device_id AND f.status = 'ok'
     AND f.score_ns IS NOT NULL AND q.arm NOT IN ('held_out', 'comparison', 'examination', 'profile')
     AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = f.id)
   ORDER BY q.arm = 'final' DESC, f.id DESC LIMIT 1),
  (SELECT f.id FROM evaluations f JOIN scores c ON c.definition_id = s.definition_id AND c.device_id = f.device_id
     AND c.arch = s.arch AND c.score_ns = f.score_ns AND c.evaluation_id = f.id AND c.searched = 1
   WHERE f.search_id = s.id AND f.device_id = s.device_id ORDER BY f.score_ns, f.id LIMIT 1))
JOIN proposals p ON p.id = e.proposal_id;

-- The champion that is best of each definition, product and target.
CREATE VIEW best_kernels AS
SELECT definition, device, device_kind, arch, search, variant, evaluation, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN score_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN score_ns / 1000.0 END AS emulated_cost_us, confirmed
FROM (SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, h.search, h.variant, h.evaluation,
             v.name AS template, v.tunables, h.score_ns, h.confirmed,
             row_number() OVER (PARTITION BY s.definition_id, dev.kind, dev.name, s.arch
                                ORDER BY h.score_ns, s.started_at, s.uid) AS number
      FROM champions h JOIN searches s ON s.id = h.search JOIN variants v ON v.id = h.variant
      JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id)
WHERE number = 1
ORDER BY definition, device, arch;

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
       base.pytorch_ns / m.median_ns AS speedup_vs_pytorch,
       100.0 * base.fastest_ns / m.median_ns AS pct_of_reference
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN workloads w ON w.definition_id = d.id
  AND (EXISTS (SELECT 1 FROM measurements x WHERE x.evaluation_id = e.id AND x.workload_id = w.id AND x.role = 'candidate')
       OR EXISTS (SELECT 1 FROM evaluation_checks x WHERE x.evaluation_id = e.id AND x.workload_id = w.id))
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate' AND m.cold = 1
LEFT JOIN baselines base ON base.search_id = e.search_id AND base.workload_id = w.id AND base.cold = m.cold
WHERE NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm IN ('comparison', 'examination', 'profile'));

-- What the table holds by definition: an evaluation of a search is a proposal that was evaluated, without what is
-- done to leaders.
CREATE VIEW search_figures_defined AS
SELECT e.search_id, count(*) AS evaluations, sum(x.proposed AND e.status <> 'pruned') AS searched,
       sum(x.proposed AND e.status IN ('ok', 'duplicate')) AS verified,
       min(CASE WHEN x.proposed AND e.status = 'ok' THEN e.score_ns END) AS best_ns
FROM evaluations e
JOIN (SELECT id, arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS proposed FROM proposals) x
  ON x.id = e.proposal_id
GROUP BY e.search_id;
DELETE FROM search_figures;
INSERT INTO search_figures SELECT * FROM search_figures_defined;

CREATE TRIGGER evaluation_added AFTER INSERT ON evaluations BEGIN
  INSERT INTO scores SELECT * FROM scores_defined WHERE evaluation_id = new.id;
  INSERT INTO search_figures
  SELECT new.search_id, 1, x.proposed AND new.status <> 'pruned', x.proposed AND new.status IN ('ok', 'duplicate'),
         CASE WHEN x.proposed AND new.status = 'ok' THEN new.score_ns END
  FROM (SELECT arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS proposed
        FROM proposals WHERE id = new.proposal_id) x
  WHERE true
  ON CONFLICT (search_id) DO UPDATE SET
    evaluations = evaluations + 1, searched = searched + excluded.searched, verified = verified + excluded.verified,
    best_ns = min(coalesce(best_ns, excluded.best_ns), coalesce(excluded.best_ns, best_ns));
END;

-- One row an evaluation that was timed or counted, best first within a definition, product and target. What its search
-- measured and did not choose is placed after the champion of that search: it may have been luck.
CREATE VIEW leaderboard AS
WITH champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions)
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, r.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN r.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN r.score_ns / 1000.0 END AS emulated_cost_us,
       'ok' AS status, r.search_id AS search,
       rank() OVER (PARTITION BY r.definition_id, dev.kind, dev.name, r.arch
                    ORDER BY max(r.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT r.evaluation_id, r.score_ns) AS place
FROM scores r JOIN definitions d ON d.id = r.definition_id JOIN devices dev ON dev.id = r.device_id
JOIN variants v ON v.id = r.variant_id LEFT JOIN champion h ON h.search = r.search_id
ORDER BY definition, device, r.arch, place;

-- The champion each search ended with.
CREATE VIEW best_variants AS
SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.best_variant_id AS variant,
       v.name AS template, v.tunables, CASE WHEN dev.kind <> 'emulator' THEN h.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN h.score_ns / 1000.0 END AS emulated_cost_us, s.started_at, s.command
FROM searches s JOIN variants v ON v.id = s.best_variant_id JOIN definitions d ON d.id = s.definition_id
JOIN devices dev ON dev.id = s.device_id LEFT JOIN champions h ON h.search = s.id
ORDER BY s.started_at, s.id;

-- One row a search: what was tried and what came of it.
CREATE VIEW experiments AS
SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       coalesce(f.searched, 0) AS evaluations, coalesce(f.verified, 0) AS verified,
       CASE WHEN dev.kind <> 'emulator' THEN h.score_ns / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN h.score_ns / 1000.0 END AS best_emulated_cost_us,
       s.started_at, s.ended_at, s.command
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN search_figures f ON f.search_id = s.id LEFT JOIN champions h ON h.search = s.id
ORDER BY s.started_at, s.id;

-- One row a candidate that was checked on held-out shapes when its search ended.
CREATE VIEW generalisation AS
SELECT search, definition, device_kind, variant, template, tunables, evaluation, status, message, shapes, passed,
       1.0 * passed / shapes AS share, drawn
FROM (SELECT e.search_id AS search, d.name AS definition, dev.kind AS device_kind, v.id AS variant, v.name AS template,
             v.tunables, e.id AS evaluation, e.status, e.message, json_array_length(e.request, '$.workloads') AS shapes,
             CASE WHEN e.status IN ('ok', 'duplicate') THEN json_array_length(e.request, '$.workloads')
                  ELSE max(0, (SELECT count(DISTINCT c.workload_id) FROM evaluation_checks c WHERE c.evaluation_id = e.id) - 1) END AS passed,
             e.request ->> '$.tag' AS drawn
      FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
      JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm = 'held_out')
ORDER BY search, evaluation;

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
  SELECT *, (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = b.evaluation_id) AS max_error,
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

-- The uid is the hash of the plan.
CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  plan TEXT NOT NULL CHECK (json_valid(plan))
) STRICT;
ALTER TABLE variants ADD COLUMN plan_id INTEGER REFERENCES plans (id);
INSERT INTO plans (uid, plan) SELECT content_uid(plan), plan FROM (SELECT plan, min(id) AS first FROM variants GROUP BY plan) ORDER BY first;
UPDATE variants SET plan_id = (SELECT p.id FROM plans p WHERE p.uid = content_uid(variants.plan));
ALTER TABLE variants DROP COLUMN plan;
