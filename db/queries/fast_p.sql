-- fast_p: the share of the problems tried that have a correct kernel at least p times as fast as a baseline.
-- by: search, model, arm, strategy or device (text, search)
-- problems: what is one problem: workload (a shape) or definition (text, workload)
-- baseline: its label, * for any letters, such as pytorch*; fastest: the fastest of all (text, naive)
-- times: device, or wall as public boards measure: of turns alone (text, device)
-- p: numbers with commas between; 0 asks for correct alone (text, 0,0.5,0.8,1,1.5,2)
-- definition: of this definition alone (text)
WITH levels AS (SELECT CAST(value AS REAL) AS p FROM json_each('[' || :p || ']')),
-- A variant is of who proposed it first in its search; that it was measured again changes nothing.
origins AS (SELECT search_id, variant_id, min(id) AS proposal_id FROM proposals GROUP BY search_id, variant_id),
-- Degenerate problems do not count.
tried AS (
  SELECT e.id AS evaluation, e.search_id, e.variant_id, s.definition_id, dev.kind AS device_kind, dev.name AS device,
         e.status = 'ok' AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id) AS counts,
         CASE :by WHEN 'search' THEN s.id WHEN 'model' THEN coalesce(c.model, 'no model') WHEN 'arm' THEN p.arm
                  WHEN 'strategy' THEN s.strategy WHEN 'device' THEN dev.name END AS tried_by
  FROM evaluations e JOIN searches s ON s.id = e.search_id JOIN devices dev ON dev.id = e.device_id
  JOIN ranked_definitions d ON d.id = s.definition_id
  JOIN origins o ON o.search_id = e.search_id AND o.variant_id = e.variant_id
  JOIN proposals p ON p.id = o.proposal_id LEFT JOIN llm_calls c ON c.id = p.llm_call_id
  WHERE dev.kind <> 'none' AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile')
    AND ifnull(:definition, d.name) = d.name),
-- Shapes of a search: those that any search of the same shapes timed, else those that it should have timed.
shapes AS (
  SELECT DISTINCT s.definition_id, s.workloads_hash, dev.kind AS device_kind, w.workload_uid
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN searches s ON s.id = e.search_id
  JOIN devices dev ON dev.id = e.device_id JOIN workloads w ON w.id = m.workload_id WHERE m.cold = 1),
asked AS (
  SELECT DISTINCT tried_by, search_id, device_kind, device FROM tried
  UNION SELECT c.model, s.id, dev.kind, dev.name FROM llm_calls c JOIN searches s ON s.id = c.search_id
        JOIN ranked_definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
        WHERE :by = 'model' AND dev.kind <> 'none' AND ifnull(:definition, d.name) = d.name),
problems AS (
  SELECT DISTINCT a.tried_by, a.device_kind, a.device, s.definition_id,
         CASE :problems WHEN 'workload' THEN w.workload_uid WHEN 'definition' THEN '' END AS problem
  FROM asked a JOIN searches s ON s.id = a.search_id
  JOIN workloads w ON w.definition_id = s.definition_id
  WHERE EXISTS (SELECT 1 FROM shapes t WHERE t.definition_id = s.definition_id AND t.workloads_hash IS s.workloads_hash
                AND t.device_kind = a.device_kind AND t.workload_uid = w.workload_uid)
     OR w.timed = 1 AND (w.tier = 'emulator' OR w.tier = 'gpu' AND a.device_kind = 'cuda')
        AND NOT EXISTS (SELECT 1 FROM shapes t WHERE t.definition_id = s.definition_id
                        AND t.workloads_hash IS s.workloads_hash AND t.device_kind = a.device_kind)),
-- In turns with the kernel: what a speed-up is claimed from where there are some.
turned AS (
  SELECT t.search, t.variant, w.workload_uid, min(t.speedup) AS speedup
  FROM baseline_turns t JOIN workloads w ON w.id = t.workload_id
  WHERE t.times = :times AND t.baseline <> 'itself' AND (:baseline = 'fastest' OR t.baseline GLOB :baseline)
  GROUP BY t.search, t.variant, w.workload_uid),
-- Else of the same search, as clocks and drivers change.
baselines AS (
  SELECT e.search_id, w.workload_uid, min(m.median_ns) AS baseline_ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN workloads w ON w.id = m.workload_id
  WHERE :times = 'device' AND m.role = 'baseline' AND m.cold = 1 AND m.median_ns > 0 AND (:baseline = 'fastest' OR m.label GLOB :baseline)
  GROUP BY e.search_id, w.workload_uid),
timed AS (
  SELECT t.tried_by, t.device_kind, t.device, t.definition_id, t.evaluation, w.workload_uid,
         max(w.weight, 1e-9) AS weight, coalesce(r.speedup, b.baseline_ns / m.median_ns) AS speedup
  FROM tried t
  JOIN measurements m ON m.evaluation_id = t.evaluation AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
  JOIN workloads w ON w.id = m.workload_id
  LEFT JOIN turned r ON r.search = t.search_id AND r.variant = t.variant_id AND r.workload_uid = w.workload_uid
  LEFT JOIN baselines b ON b.search_id = t.search_id AND b.workload_uid = w.workload_uid
  WHERE t.counts),
-- Of a definition the weighted geometric mean over its shapes.
reached AS (
  SELECT tried_by, device_kind, device, definition_id,
         CASE :problems WHEN 'workload' THEN workload_uid ELSE '' END AS problem,
         exp(sum(weight * ln(speedup)) / sum(iif(speedup IS NULL, NULL, weight))) AS speedup
  FROM timed GROUP BY tried_by, device_kind, device, definition_id, problem, evaluation),
best AS (
  SELECT tried_by, device_kind, device, definition_id, problem, max(speedup) AS speedup, 1 AS correct
  FROM reached GROUP BY tried_by, device_kind, device, definition_id, problem),
judged AS (
  SELECT q.*, b.speedup, coalesce(b.correct, 0) AS correct
  FROM problems q LEFT JOIN best b ON b.tried_by IS q.tried_by AND b.device_kind = q.device_kind AND b.device = q.device
    AND b.definition_id = q.definition_id AND b.problem = q.problem)
SELECT tried_by, device, device_kind, p, count(*) AS problems,
       sum(correct AND (p <= 0 OR ifnull(speedup >= p, 0))) AS fast,
       round(1.0 * sum(correct AND (p <= 0 OR ifnull(speedup >= p, 0))) / count(*), 4) AS fast_p,
       sum(correct AND speedup IS NULL) AS without_baseline, round(exp(avg(ln(speedup))), 3) AS mean_speedup,
       :times AS times
FROM judged CROSS JOIN levels
GROUP BY tried_by, device_kind, device, p ORDER BY tried_by, device_kind, device, p
