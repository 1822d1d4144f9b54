-- Overview
--
-- @tiles What is going on
WITH latest AS MATERIALIZED (
  SELECT id, status, substr(ended_at, 1, 16) AS minute FROM evaluations ORDER BY id DESC LIMIT 2000),
judged AS MATERIALIZED (
  SELECT ntile(40) OVER (ORDER BY id) AS part, status IN ('ok', 'duplicate') AS passed FROM latest
  WHERE status NOT IN ('compiled_only', 'pruned', 'interrupted')),
asked AS MATERIALIZED (
  SELECT id, cost_usd, coalesce(input_tokens, 0) + coalesce(output_tokens, 0) AS tokens FROM llm_calls ORDER BY id DESC LIMIT 150),
running AS MATERIALIZED (SELECT count(*) AS searches FROM searches WHERE status = 'running')
SELECT 'searches running' AS label, searches AS value, (SELECT count(*) FROM searches) || ' searches in all' AS note,
       iif(searches > 0, 'info', NULL) AS tone, NULL AS history FROM running
UNION ALL
SELECT 'evaluations', (SELECT sum(searched) FROM search_figures),
       'minute by minute until ' || (SELECT substr(minute, 12) || ' on ' || substr(minute, 1, 10) FROM latest LIMIT 1), NULL,
       (SELECT json_group_array(n) FROM (SELECT n FROM (
          SELECT minute, count(*) AS n FROM latest GROUP BY minute ORDER BY minute DESC LIMIT 60) ORDER BY minute))
WHERE (SELECT count(*) FROM latest) > 0
UNION ALL
SELECT 'passed', printf('%.0f %%', 100 * avg(passed)), 'of the latest ' || count(*), NULL,
       (SELECT json_group_array(share) FROM (SELECT round(100 * avg(passed), 1) AS share FROM judged GROUP BY part ORDER BY part))
FROM judged HAVING count(*) > 0
UNION ALL
SELECT 'best kernels', count(DISTINCT definition_id), 'definitions, on ' || count(DISTINCT device_id) || iif(count(DISTINCT device_id) = 1, ' device', ' devices'), NULL, NULL
FROM (SELECT DISTINCT s.definition_id, s.device_id FROM searches s WHERE s.best_variant_id IS NOT NULL) HAVING count(*) > 0
UNION ALL
SELECT 'calls of models', count(*), iif(count(cost_usd) > 0, printf('US$ %.2f', total(cost_usd))
           || iif(max(cost_usd IS NULL AND tokens > 0), ' and some of unknown price, ', ', '), '')
       || printf('%.0f thousand tokens', total(tokens) / 1000), NULL,
       (SELECT json_group_array(tokens) FROM (SELECT tokens FROM asked ORDER BY id))
FROM asked HAVING count(*) > 0;
-- @searches Running and latest searches
WITH latest AS MATERIALIZED (
  SELECT s.*, (SELECT h.score_ns FROM champions h WHERE h.search = s.id) AS best_ns
  FROM searches s
  WHERE s.id IN (SELECT id FROM searches ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 12))
SELECT s.id AS search, s.status, d.name AS definition,
       iif(dev.kind <> 'emulator', s.best_ns, NULL) / 1000.0 AS best_us,
       iif(dev.kind = 'emulator', s.best_ns, NULL) / 1000.0 AS emulated_cost_us,
       (SELECT json_group_array(best) FROM (SELECT min(best) AS best FROM (
          SELECT best, ntile(100) OVER () AS part FROM (
            SELECT min(iif(e.status = 'ok', e.score_ns, NULL)) OVER (ORDER BY e.id) / 1000.0 AS best
            FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
            WHERE e.search_id = s.id AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')
            LIMIT 5000) WHERE best IS NOT NULL) GROUP BY part ORDER BY part)) AS best_history,
       s.best_variant_id AS variant, coalesce(f.searched, 0) AS evaluations, dev.name AS device, s.arch, s.started_at,
       s.proposer, s.strategy, s.reason
FROM latest s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN search_figures f ON f.search_id = s.id
ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC;
-- @best The fastest verified kernels, by definition and device
SELECT definition, score_us, emulated_cost_us, variant, device, arch, shapes, search, template,
       (SELECT group_concat(key || '=' || value, ' ') FROM json_each(tunables)) AS tunables
FROM best_kernels ORDER BY device_kind = 'emulator', definition, device, arch, shapes_number LIMIT 100;
-- @failures The latest failures
WITH latest AS (SELECT * FROM evaluations ORDER BY id DESC LIMIT 5000)
SELECT e.variant_id AS variant, e.search_id AS search, e.status, e.stage, e.gate,
       substr(e.message, 1, 160) AS message, e.ended_at
FROM latest e WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')
ORDER BY e.id DESC LIMIT 10;
-- @spend What language models cost in the latest searches that asked one
WITH asked AS MATERIALIZED (
  SELECT id, search_id, model, input_tokens, output_tokens, cost_usd FROM llm_calls ORDER BY id DESC LIMIT 150)
SELECT search_id AS search, search_id AS transcript, model, count(*) AS calls, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens,
       iif(max(cost_usd IS NULL AND input_tokens + output_tokens > 0), NULL, sum(cost_usd)) AS cost_usd
FROM asked GROUP BY search_id, model ORDER BY search_id DESC LIMIT 12;
