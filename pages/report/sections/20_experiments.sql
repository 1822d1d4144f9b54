-- Experiments conducted
--
-- @searches Each search with its result and what was learned from it
SELECT x.search, x.definition, x.device, x.proposer || ', ' || x.strategy AS method, x.status, x.evaluations, x.verified,
       x.best_us, x.best_emulated_cost_us AS emulated_cost_us,
       round((julianday(coalesce(x.ended_at, x.started_at)) - julianday(x.started_at)) * 1440, 1) AS took_minutes,
       (SELECT iif(max(cost_usd IS NULL AND input_tokens + output_tokens > 0), NULL, sum(cost_usd)) FROM llm_calls c WHERE c.search_id = x.search) AS cost_usd,
       iif(x.proposer = 'user', NULL, (SELECT i.text FROM insights i WHERE i.algorithm = d.problem AND i.arch = x.arch AND i.device = x.device AND i.kind IN ('tunable', 'template', 'attempt')
          AND i.ratio < 0.98 AND i.wins > 0
        ORDER BY i.ratio LIMIT 1)) AS learned
FROM experiments x JOIN definitions d ON d.name = x.definition
WHERE x.search IN (SELECT id FROM report_searches)
ORDER BY x.started_at DESC, x.search DESC LIMIT 200;

-- @progress Best score so far, by the time since the search began; the latest twelve searches
WITH latest AS (SELECT id FROM searches WHERE id IN (SELECT id FROM report_searches) ORDER BY started_at DESC, id DESC LIMIT 12),
run AS (
  SELECT e.search_id, e.id, e.ended_at, min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (PARTITION BY e.search_id ORDER BY e.id) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE e.search_id IN (SELECT id FROM latest) AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')),
step AS (SELECT *, lag(best_ns) OVER (PARTITION BY search_id ORDER BY id) AS before, lead(id) OVER (PARTITION BY search_id ORDER BY id) AS next FROM run)
SELECT d.name || ' on ' || v.name || iif(v.kind = 'emulator', ' (estimated cost, no time)', '') AS problem, 'search ' || s.id AS search_name,
       max(0, (julianday(t.ended_at) - julianday(s.started_at)) * 1440) AS since_minutes, t.best_ns / 1000 AS best_us
FROM step t JOIN searches s ON s.id = t.search_id JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id
WHERE t.best_ns IS NOT NULL AND (t.before IS NULL OR t.best_ns < t.before OR t.next IS NULL)
ORDER BY problem, s.id, t.id;
