-- Overview
--
-- @now What is going on
SELECT (SELECT count(*) FROM searches WHERE status = 'running') AS running,
       (SELECT max(id) FROM variants) AS newest_variant,
       (SELECT max(id) FROM searches) AS newest_search,
       (SELECT ended_at FROM evaluations ORDER BY id DESC LIMIT 1) AS latest_at;
-- @searches Running and latest searches
WITH latest AS MATERIALIZED (
  SELECT s.id, s.definition_id, s.device_id, s.arch, s.proposer, s.strategy, s.status, s.reason, s.best_variant_id,
         s.started_at,
         iif(s.best_variant_id IS NULL,
             (SELECT min(e.score_ns) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
              WHERE e.search_id = s.id AND e.status = 'ok' AND p.arm NOT IN ('comparison', 'examination', 'profile')),
             (SELECT min(e.score_ns) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
              WHERE e.variant_id = s.best_variant_id AND e.search_id = s.id AND e.status = 'ok'
                AND p.arm NOT IN ('comparison', 'examination', 'profile'))) AS best_ns
  FROM searches s
  WHERE s.id IN (SELECT id FROM searches ORDER BY status = 'running' DESC, id DESC LIMIT 12))
SELECT s.id AS search, s.status, d.name AS definition,
       iif(dev.kind <> 'emulator', s.best_ns, NULL) / 1000.0 AS best_us,
       iif(dev.kind = 'emulator', s.best_ns, NULL) / 1000.0 AS emulated_cost_us, s.best_variant_id AS variant,
       (SELECT count(*) FROM evaluations e WHERE e.search_id = s.id) AS evaluations,
       dev.name AS device, s.arch, s.started_at, s.proposer, s.strategy, s.reason
FROM latest s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
ORDER BY s.status = 'running' DESC, s.id DESC;
-- @best The fastest verified kernels, by definition and device
WITH boards AS MATERIALIZED (SELECT DISTINCT definition_id, device_id, arch FROM searches),
leaders AS MATERIALIZED (
  SELECT (SELECT c.evaluation_id FROM scores c
          WHERE c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
          ORDER BY c.score_ns LIMIT 1) AS evaluation
  FROM boards b)
SELECT d.name AS definition, iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, v.id AS variant,
       dev.name AS device, s.arch, s.id AS search, v.name AS template, v.tunables
FROM leaders l JOIN evaluations e ON e.id = l.evaluation JOIN searches s ON s.id = e.search_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN devices dev ON dev.id = e.device_id ORDER BY dev.kind = 'emulator', definition, device, s.arch LIMIT 100;
-- @failures The latest failures
WITH latest AS (SELECT * FROM evaluations ORDER BY id DESC LIMIT 5000)
SELECT e.variant_id AS variant, e.search_id AS search, e.status, e.stage, e.gate,
       substr(e.message, 1, 160) AS message, e.ended_at
FROM latest e WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')
ORDER BY e.id DESC LIMIT 10;
-- @spend What language models cost in the latest searches that asked one
WITH asked AS MATERIALIZED (
  SELECT id, search_id, model, input_tokens, output_tokens, cost_usd FROM llm_calls ORDER BY id DESC LIMIT 150)
SELECT search_id AS search, model, count(*) AS calls, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM asked GROUP BY search_id, model ORDER BY search_id DESC LIMIT 12;
