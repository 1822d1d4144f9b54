-- Schema version 10. When a search asked for a proposal and heard of it, what the strategy itself took, and a view that
-- compares strategies.

ALTER TABLE sessions ADD COLUMN resumed INTEGER;
ALTER TABLE sessions ADD COLUMN workloads_hash TEXT;
ALTER TABLE proposals ADD COLUMN member TEXT;
ALTER TABLE proposals ADD COLUMN asked_ms REAL;
ALTER TABLE proposals ADD COLUMN ask_ns INTEGER;
ALTER TABLE proposals ADD COLUMN told_ms REAL;
ALTER TABLE proposals ADD COLUMN tell_ns INTEGER;

-- One row a session of a search: how soon it came near the best that is known of this problem on this device.
CREATE VIEW strategies AS
WITH searched AS (
  SELECT e.session_id, e.score_ns, e.status IN ('ok', 'duplicate') AS passed, p.ask_ns, p.tell_ns, p.asked_ms, p.told_ms,
         row_number() OVER (PARTITION BY e.session_id ORDER BY e.id) AS number
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile') AND e.status <> 'pruned'),
known AS (
  SELECT s.definition_id, s.device_id, s.arch, s.workloads_hash, min(e.score_ns) AS best_ns
  FROM evaluations e JOIN sessions s ON s.id = e.session_id AND s.device_id = e.device_id
  JOIN proposals p ON p.id = e.proposal_id AND p.arm NOT IN ('held_out', 'examination', 'profile')
  WHERE e.status = 'ok' AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
  GROUP BY s.definition_id, s.device_id, s.arch, s.workloads_hash)
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
