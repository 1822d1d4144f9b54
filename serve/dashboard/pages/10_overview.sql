-- Overview
--
-- @now What is going on
SELECT (SELECT count(*) FROM searches WHERE status = 'running') AS running,
       (SELECT max(id) FROM variants) AS newest_variant,
       (SELECT id FROM searches ORDER BY started_at DESC, id DESC LIMIT 1) AS newest_search,
       (SELECT ended_at FROM evaluations ORDER BY id DESC LIMIT 1) AS latest_at;
-- @searches Running and latest searches
WITH latest AS MATERIALIZED (
  SELECT s.*, (SELECT h.score_ns FROM champions h WHERE h.search = s.id) AS best_ns
  FROM searches s
  WHERE s.id IN (SELECT id FROM searches ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 12))
SELECT s.id AS search, s.status, d.name AS definition,
       iif(dev.kind <> 'emulator', s.best_ns, NULL) / 1000.0 AS best_us,
       iif(dev.kind = 'emulator', s.best_ns, NULL) / 1000.0 AS emulated_cost_us, s.best_variant_id AS variant,
       coalesce(f.searched, 0) AS evaluations, dev.name AS device, s.arch, s.started_at, s.proposer, s.strategy, s.reason
FROM latest s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN search_figures f ON f.search_id = s.id
ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC;
-- @best The fastest verified kernels, by definition and device
SELECT definition, score_us, emulated_cost_us, variant, device, arch, search, template, tunables
FROM best_kernels ORDER BY device_kind = 'emulator', definition, device, arch LIMIT 100;
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
       sum(output_tokens) AS output_tokens,
       iif(max(cost_usd IS NULL AND input_tokens + output_tokens > 0), NULL, sum(cost_usd)) AS cost_usd
FROM asked GROUP BY search_id, model ORDER BY search_id DESC LIMIT 12;
