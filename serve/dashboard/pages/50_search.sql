-- Search
-- search: its number (integer, required)
--
-- @search The search
SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.status, s.reason,
       s.proposer, s.strategy, s.seed, s.started_at, s.ended_at,
       (julianday(coalesce(s.ended_at, (SELECT max(ended_at) FROM evaluations WHERE search_id = s.id)))
        - julianday(s.started_at)) * 1440 AS minutes,
       n.operating_system, n.driver_version, n.alphakernel_version
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
JOIN environments n ON n.id = s.environment_id WHERE s.id = :search;
-- @results Where it stands
SELECT d.name AS definition, dev.name AS device, s.arch, s.status, s.proposer, s.strategy, s.best_variant_id AS variant
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
WHERE s.id = :search;
-- @command How it was started
SELECT 'Command' AS title, command || char(10) || 'budgets: ' || budgets AS text FROM searches WHERE id = :search;
-- @counts The result of its evaluations
SELECT max(f.searched) AS evaluations, max(f.verified) AS verified, sum(e.status = 'duplicate') AS duplicates,
       sum(e.status = 'pruned') AS pruned,
       sum(e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')) AS failed
FROM evaluations e LEFT JOIN search_figures f ON f.search_id = e.search_id WHERE e.search_id = :search;
-- @progress Score of every evaluation of the search, and the best so far
SELECT row_number() OVER (ORDER BY g.ended_at, g.best_so_far_us DESC) AS number, g.score_us, g.best_so_far_us,
       g.variant,
       (SELECT p.proposer FROM proposals p WHERE p.search_id = :search AND p.iteration = g.iteration
        LIMIT 1) AS proposer
FROM progress g WHERE g.search = :search AND g.device_kind <> 'emulator' AND g.best_so_far_us IS NOT NULL
ORDER BY number LIMIT 5000;
-- @emulated Estimated cost of every evaluation of the search on the CPU emulator, and the lowest so far
SELECT row_number() OVER (ORDER BY ended_at, best_emulated_cost_us DESC) AS number, emulated_cost_us,
       best_emulated_cost_us, variant FROM progress
WHERE search = :search AND device_kind = 'emulator' AND best_emulated_cost_us IS NOT NULL
ORDER BY number LIMIT 5000;
-- @leaders Its fastest variants
WITH champion AS (SELECT evaluation, score_ns FROM champions WHERE search = :search)
SELECT e.variant_id AS variant, iif(dev.kind <> 'emulator', min(e.score_ns), NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', min(e.score_ns), NULL) / 1000.0 AS emulated_cost_us,
       v.name AS template, v.tunables, p.proposer, p.arm, e.occupancy_ratio, e.shared_bytes
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN devices dev ON dev.id = e.device_id LEFT JOIN champion h
WHERE e.search_id = :search AND e.status = 'ok' AND e.score_ns IS NOT NULL
  AND p.arm NOT IN ('comparison', 'examination', 'held_out', 'profile')
  AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
GROUP BY e.variant_id
ORDER BY min(max(e.score_ns, ifnull(h.score_ns, 0))), max(h.evaluation IS e.id) DESC, min(e.score_ns) LIMIT 15;
-- @failures What went wrong, by stage and cause
SELECT stage, status, gate, count(*) AS failures, count(DISTINCT variant) AS variants, max(variant) AS variant,
       substr(max(message), 1, 160) AS message
FROM failures WHERE search = :search GROUP BY stage, status, gate ORDER BY failures DESC LIMIT 30;
-- @arms Who proposed, and the result
SELECT p.proposer, p.arm, count(*) AS evaluations, sum(e.status = 'ok') AS verified,
       iif(dev.kind <> 'emulator', min(iif(e.status = 'ok', e.score_ns, NULL)), NULL) / 1000.0 AS best_us,
       iif(dev.kind = 'emulator', min(iif(e.status = 'ok', e.score_ns, NULL)), NULL) / 1000.0 AS best_emulated_cost_us,
       avg(p.ask_ns) / 1000.0 AS ask_us
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
WHERE e.search_id = :search GROUP BY p.proposer, p.arm ORDER BY evaluations DESC LIMIT 30;
-- @model_arms What each model and prompt was worth
SELECT model, arm, exchanges, calls, mean_reward, took_the_lead, input_tokens, output_tokens, cost_usd
FROM llm_arms WHERE search = :search ORDER BY mean_reward DESC LIMIT 30;
-- @calls Its questions to language models
SELECT c.id AS call, c.started_at, c.model, c.arm, c.status, c.stop, c.input_tokens, c.output_tokens, c.cost_usd,
       c.latency_ms, c.reward, substr(c.message, 1, 120) AS message
FROM llm_calls c WHERE c.search_id = :search ORDER BY c.id DESC LIMIT 50;
-- @time Where the time of its evaluations went
WITH sums AS MATERIALIZED (
  SELECT total(queue_ms) AS queue, total(build_ms) AS build, total(device_wait_ms) AS wait, total(check_ms) AS checks,
         total(time_ms) AS timing
  FROM evaluations WHERE search_id = :search)
SELECT 'waiting for a compiler' AS step, queue AS total_ms FROM sums UNION ALL SELECT 'building', build FROM sums
UNION ALL SELECT 'waiting for the device', wait FROM sums UNION ALL SELECT 'checking', checks FROM sums
UNION ALL SELECT 'timing', timing FROM sums;
-- @prediction How far predicted times were off
SELECT model, count(*) AS predictions, 100 * avg(abs(error)) AS mean_error_pct, 100 * avg(error) AS bias_pct,
       100.0 * avg(in_interval) AS in_interval_pct
FROM prediction_errors WHERE search = :search AND measured_us IS NOT NULL GROUP BY model LIMIT 10;
-- @predicted Predicted and measured times
SELECT measured_us, predicted_us, workload, variant FROM prediction_errors
WHERE search = :search AND measured_us IS NOT NULL LIMIT 1000;
-- @comparisons Challengers timed in pairs with the champion of the time
SELECT challenger AS variant, champion, workload, challenger_us, champion_us, ratio, pairs, status,
       substr(message, 1, 160) AS message
FROM comparisons WHERE search = :search ORDER BY evaluation DESC LIMIT 40;
