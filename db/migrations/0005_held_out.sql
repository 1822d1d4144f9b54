-- Schema version 5. The last check of a session, on held-out shapes: a view of its own, and no evaluation of the search.

-- One row a candidate that was checked on held-out shapes when its session ended.
CREATE VIEW generalisation AS
SELECT session, definition, device_kind, variant, template, tunables, evaluation, status, message, shapes, passed,
       1.0 * passed / shapes AS share, drawn
FROM (SELECT e.session_id AS session, d.name AS definition, dev.kind AS device_kind, v.id AS variant, v.name AS template,
             v.tunables, e.id AS evaluation, e.status, e.message, json_array_length(e.request, '$.workloads') AS shapes,
             CASE WHEN e.status IN ('ok', 'duplicate') THEN json_array_length(e.request, '$.workloads')
                  ELSE max(0, (SELECT count(DISTINCT c.workload_id) FROM checks c WHERE c.evaluation_id = e.id) - 1) END AS passed,
             e.request ->> '$.tag' AS drawn
      FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
      JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
      WHERE p.arm = 'held_out')
ORDER BY session, evaluation;

DROP VIEW progress;
DROP VIEW experiments;

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
      WHERE p.arm <> 'held_out')
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
  AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.id = e.proposal_id AND p.arm = 'held_out')
GROUP BY s.id;
