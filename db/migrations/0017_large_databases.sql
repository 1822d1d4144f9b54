-- Schema version 17. What a million variants need: the results in the order of their scores and the figures of every
-- session, kept by triggers; indices for rare things; views that ask them. Names, columns and rows of the
-- views are as before.

-- Evaluations that count in tables of results: ended ok with a score, and not superseded. The references are those of
-- the evaluation, and are not declared again: every one would be looked up for every row.
CREATE TABLE scores (
  definition_id INTEGER NOT NULL,
  device_id INTEGER NOT NULL,
  arch TEXT NOT NULL,
  score_ns REAL NOT NULL,
  evaluation_id INTEGER NOT NULL,
  session_id INTEGER NOT NULL,
  variant_id INTEGER NOT NULL,
  shared_bytes INTEGER,
  searched INTEGER NOT NULL CHECK (searched IN (0, 1)),
  PRIMARY KEY (definition_id, device_id, arch, score_ns, evaluation_id)
) WITHOUT ROWID, STRICT;

CREATE TABLE session_figures (
  session_id INTEGER PRIMARY KEY,
  evaluations INTEGER NOT NULL,
  searched INTEGER NOT NULL,
  verified INTEGER NOT NULL,
  best_ns REAL
) STRICT;

-- What the two tables hold by definition: `alphakernel db verify` compares.
CREATE VIEW scores_defined AS
SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id AS evaluation_id, e.session_id, e.variant_id, e.shared_bytes,
       p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile') AS searched
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN sessions s ON s.id = e.session_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id);

CREATE VIEW session_figures_defined AS
SELECT e.session_id, count(*) AS evaluations, sum(x.searched) AS searched, sum(x.searched AND e.status = 'ok') AS verified,
       min(CASE WHEN x.searched AND e.status = 'ok' THEN e.score_ns END) AS best_ns
FROM evaluations e
JOIN (SELECT id, arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS searched FROM proposals) x
  ON x.id = e.proposal_id
GROUP BY e.session_id;

INSERT INTO scores SELECT * FROM scores_defined ORDER BY definition_id, device_id, arch, score_ns, evaluation_id;
INSERT INTO session_figures SELECT * FROM session_figures_defined;

CREATE TRIGGER evaluation_added AFTER INSERT ON evaluations BEGIN
  INSERT INTO scores SELECT * FROM scores_defined WHERE evaluation_id = new.id;
  INSERT INTO session_figures
  SELECT new.session_id, 1, x.searched, x.searched AND new.status = 'ok', CASE WHEN x.searched AND new.status = 'ok' THEN new.score_ns END
  FROM (SELECT arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AS searched
        FROM proposals WHERE id = new.proposal_id) x
  WHERE true
  ON CONFLICT (session_id) DO UPDATE SET
    evaluations = evaluations + 1, searched = searched + excluded.searched, verified = verified + excluded.verified,
    best_ns = min(coalesce(best_ns, excluded.best_ns), coalesce(excluded.best_ns, best_ns));
END;

-- What is done to a leader decides about its evaluations before.
CREATE TRIGGER leader_judged AFTER INSERT ON evaluations
WHEN (SELECT arm FROM proposals WHERE id = new.proposal_id) IN ('held_out', 'comparison', 'examination', 'final')
BEGIN
  DELETE FROM scores WHERE (definition_id, device_id, arch, score_ns, evaluation_id) IN (
    SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id
    FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN sessions s ON s.id = e.session_id
    WHERE e.variant_id = new.variant_id AND e.session_id = new.session_id AND e.score_ns IS NOT NULL
      AND EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id));
END;

CREATE TRIGGER evaluation_changed
AFTER UPDATE OF session_id, proposal_id, variant_id, device_id, status, score_ns, shared_bytes ON evaluations BEGIN
  DELETE FROM scores
  WHERE definition_id = (SELECT definition_id FROM variants WHERE id = old.variant_id) AND device_id = old.device_id
    AND arch = (SELECT arch FROM sessions WHERE id = old.session_id) AND score_ns = old.score_ns AND evaluation_id = old.id;
  DELETE FROM scores WHERE (definition_id, device_id, arch, score_ns, evaluation_id) IN (
    SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id
    FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN sessions s ON s.id = e.session_id
    WHERE e.variant_id = new.variant_id AND e.session_id = new.session_id AND e.score_ns IS NOT NULL);
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = old.variant_id AND session_id = old.session_id;
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = new.variant_id AND session_id = new.session_id;
  DELETE FROM session_figures WHERE session_id IN (old.session_id, new.session_id);
  INSERT INTO session_figures SELECT * FROM session_figures_defined WHERE session_id IN (old.session_id, new.session_id);
END;

-- Where the session goes first, as in an export, what is left is taken away at the end.
CREATE TRIGGER evaluation_removed AFTER DELETE ON evaluations
WHEN EXISTS (SELECT 1 FROM sessions WHERE id = old.session_id)
BEGIN
  DELETE FROM scores
  WHERE definition_id = (SELECT definition_id FROM variants WHERE id = old.variant_id) AND device_id = old.device_id
    AND arch = (SELECT arch FROM sessions WHERE id = old.session_id) AND score_ns = old.score_ns AND evaluation_id = old.id;
  INSERT OR IGNORE INTO scores SELECT * FROM scores_defined
  WHERE variant_id = old.variant_id AND session_id = old.session_id;
  DELETE FROM session_figures WHERE session_id = old.session_id;
  INSERT INTO session_figures SELECT * FROM session_figures_defined WHERE session_id = old.session_id;
END;

-- Rare things, found without reading all that is not: they cost a commit nothing but when they happen.
CREATE INDEX failed_evaluations ON evaluations (status, variant_id)
WHERE status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted');
CREATE INDEX held_out_proposals ON proposals (session_id, variant_id) WHERE arm = 'held_out';
CREATE INDEX profile_proposals ON proposals (session_id, variant_id) WHERE arm = 'profile';
CREATE INDEX throttled_measurements ON measurements (evaluation_id) WHERE throttled > 0;
CREATE INDEX energy_metrics ON metrics (evaluation_id, value) WHERE name = 'energy/joule';
CREATE INDEX spilling_kernels ON build_kernels (spill_store_bytes + spill_load_bytes, build_id)
WHERE spill_store_bytes + spill_load_bytes > 0;
-- Figures of the exchanges without their texts, which are long.
CREATE INDEX llm_calls_by_session ON llm_calls (session_id, model, arm, credited_arm, reward, input_tokens, output_tokens, cost_usd);
CREATE INDEX sessions_by_start ON sessions (started_at);

-- The index of checks holds what most questions ask of them.
DROP INDEX checks_by_evaluation;
CREATE INDEX checks_by_evaluation ON checks (evaluation_id, workload_id, passed, max_error, mean_error);

DROP VIEW leaderboard;
CREATE VIEW leaderboard AS
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, r.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN r.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN r.score_ns / 1000.0 END AS emulated_cost_us,
       'ok' AS status, r.session_id AS session, r.place
FROM (SELECT definition_id, device_id, arch, score_ns, session_id, variant_id,
             rank() OVER (PARTITION BY definition_id, device_id, arch ORDER BY score_ns) AS place FROM scores) r
JOIN definitions d ON d.id = r.definition_id JOIN devices dev ON dev.id = r.device_id JOIN variants v ON v.id = r.variant_id
ORDER BY definition, device, r.score_ns;

DROP VIEW best_variants;
CREATE VIEW best_variants AS
SELECT session, definition, device, device_kind, arch, variant, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN best_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN best_ns / 1000.0 END AS emulated_cost_us, started_at, command
FROM (SELECT s.id AS session, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch,
             s.best_variant_id AS variant, v.name AS template, v.tunables,
             (SELECT min(e.score_ns) FROM evaluations e
              WHERE e.variant_id = v.id AND +e.session_id = s.id AND e.status = 'ok'
                AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)) AS best_ns,
             s.started_at, s.command
      FROM sessions s
      JOIN variants v ON v.id = s.best_variant_id JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id)
ORDER BY session;

DROP VIEW experiments;
CREATE VIEW experiments AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       coalesce(f.searched, 0) AS evaluations, coalesce(f.verified, 0) AS verified,
       CASE WHEN dev.kind <> 'emulator' THEN
         coalesce((SELECT e.score_ns FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
                   WHERE e.variant_id = s.best_variant_id AND +e.session_id = s.id AND e.status = 'ok' AND p.arm = 'final'),
                  f.best_ns) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN f.best_ns / 1000.0 END AS best_emulated_cost_us,
       s.started_at, s.ended_at, s.command
FROM sessions s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN session_figures f ON f.session_id = s.id
ORDER BY s.id;

DROP VIEW generalisation;
CREATE VIEW generalisation AS
SELECT session, definition, device_kind, variant, template, tunables, evaluation, status, message, shapes, passed,
       1.0 * passed / shapes AS share, drawn
FROM (SELECT e.session_id AS session, d.name AS definition, dev.kind AS device_kind, v.id AS variant, v.name AS template,
             v.tunables, e.id AS evaluation, e.status, e.message, json_array_length(e.request, '$.workloads') AS shapes,
             CASE WHEN e.status IN ('ok', 'duplicate') THEN json_array_length(e.request, '$.workloads')
                  ELSE max(0, (SELECT count(DISTINCT c.workload_id) FROM checks c WHERE c.evaluation_id = e.id) - 1) END AS passed,
             e.request ->> '$.tag' AS drawn
      FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
      JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm = 'held_out')
ORDER BY session, evaluation;

DROP VIEW profiles;
CREATE VIEW profiles AS
SELECT p.session_id AS session, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, dev.name AS device,
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
FROM proposals p CROSS JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id AND e.session_id = p.session_id
CROSS JOIN metrics m ON m.evaluation_id = e.id JOIN workloads w ON w.id = m.workload_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
WHERE p.arm = 'profile'
GROUP BY p.session_id, e.id, w.id, m.kernel;

DROP VIEW llm_yield;
CREATE VIEW llm_yield AS
SELECT c.session_id AS session, c.model, c.arm, count(DISTINCT c.id) AS calls, count(DISTINCT p.variant_id) AS candidates,
       count(DISTINCT CASE WHEN e.status = 'ok' THEN p.variant_id END) AS verified,
       min(CASE WHEN e.status = 'ok' AND dev.kind <> 'emulator' THEN e.score_ns END) / 1000.0 AS best_us,
       min(CASE WHEN e.status = 'ok' AND dev.kind = 'emulator' THEN e.score_ns END) / 1000.0 AS best_emulated_cost_us
FROM llm_calls c LEFT JOIN proposals p ON p.llm_call_id = c.id
LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
LEFT JOIN devices dev ON dev.id = e.device_id
GROUP BY c.session_id, c.model, c.arm;

DROP VIEW strategies;
CREATE VIEW strategies AS
WITH searched AS (
  SELECT e.session_id, e.score_ns, e.status IN ('ok', 'duplicate') AS passed, p.ask_ns, p.tell_ns, p.asked_ms, p.told_ms,
         row_number() OVER (PARTITION BY e.session_id ORDER BY e.id) AS number
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AND e.status <> 'pruned'),
known AS MATERIALIZED (
  SELECT *, (SELECT c.score_ns FROM scores c JOIN sessions t ON t.id = c.session_id AND t.device_id = c.device_id
             WHERE c.definition_id = s.definition_id AND c.device_id = s.device_id AND c.arch = s.arch AND c.searched = 1
               AND t.workloads_hash IS s.workloads_hash
             ORDER BY c.score_ns LIMIT 1) AS best_ns
  FROM (SELECT DISTINCT definition_id, device_id, arch, workloads_hash FROM sessions) s)
SELECT s.id AS session, s.strategy, s.seed, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.resumed,
       count(*) AS evaluations, sum(x.passed) AS passed,
       min(CASE WHEN x.passed AND x.score_ns <= 1.05 * k.best_ns THEN x.number END) AS evaluations_to_5_percent,
       min(CASE WHEN x.passed AND x.score_ns <= 1.01 * k.best_ns THEN x.number END) AS evaluations_to_1_percent,
       min(CASE WHEN x.passed AND x.score_ns <= 1.05 * k.best_ns THEN x.told_ms END) / 1000.0 AS seconds_to_5_percent,
       CASE WHEN dev.kind <> 'emulator' THEN min(CASE WHEN x.passed THEN x.score_ns END) / 1000.0 END AS best_us,
       CASE WHEN dev.kind = 'emulator' THEN min(CASE WHEN x.passed THEN x.score_ns END) / 1000.0 END AS best_emulated_cost_us,
       min(CASE WHEN x.passed THEN x.score_ns END) / k.best_ns AS best_over_known,
       avg(x.ask_ns) / 1000.0 AS ask_us, avg(x.tell_ns) / 1000.0 AS tell_us
FROM searched x JOIN sessions s ON s.id = x.session_id
JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN known k ON k.definition_id = s.definition_id AND k.device_id = s.device_id AND k.arch = s.arch
  AND k.workloads_hash IS s.workloads_hash
WHERE s.proposer = 'search'
GROUP BY s.id;

-- Of the points whose energy is not known, only those can be on the front, or keep others from it, that no point of
-- the same shared memory beats in time and error: few. Being beaten passes on from point to point among them.
DROP VIEW pareto_front;
CREATE VIEW pareto_front AS
WITH shaped AS MATERIALIZED (  -- a number for the hash, which is long
  SELECT id, device_id, min(id) OVER (PARTITION BY workloads_hash) AS shapes FROM sessions),
best AS (
  SELECT c.definition_id, c.device_id, c.arch, s.shapes, c.variant_id, c.session_id, min(c.score_ns) AS score_ns,
         c.shared_bytes, c.evaluation_id
  FROM scores c CROSS JOIN shaped s ON s.id = c.session_id AND s.device_id = c.device_id
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
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, a.arch, a.session_id AS session, v.id AS variant,
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
