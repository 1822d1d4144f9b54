-- Search
-- search: its number (integer, required)
-- x: Heat map: across (text)
-- y: Heat map: down (text)
--
-- @search The search
SELECT s.id AS search, d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, s.status, s.reason,
       iif(s.verdict IS NULL, NULL, 'Verdict: ' || s.verdict || coalesce(printf(', at most %.2g %% of its time is left to gain', 100 * s.headroom), '') || '.') AS verdict,
       s.proposer, s.strategy, s.seed, s.started_at, s.ended_at,
       -- Of a session's search what it worked, without waits, as in reports.
       coalesce((SELECT nullif(max(x.spent_ms), 0) / 60e3 FROM session_searches x WHERE x.search_id = s.id),
                (julianday(coalesce(s.ended_at, (SELECT max(ended_at) FROM evaluations WHERE search_id = s.id)))
                 - julianday(s.started_at)) * 1440) AS minutes,
       n.operating_system, n.driver_version, n.alphakernel_version, hex(s.uid) AS uid
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
JOIN environments n ON n.id = s.environment_id WHERE s.id = :search;
-- @results What it is about
SELECT d.name AS definition, dev.name AS device, s.best_variant_id AS variant, s.arch, s.status, s.proposer, s.strategy
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id WHERE s.id = :search;
-- @tiles What it has found and done
WITH this AS MATERIALIZED (
  SELECT s.*, dev.kind, h.score_ns, h.variant, h.evaluation, h.confirmed FROM searches s JOIN devices dev ON dev.id = s.device_id
  LEFT JOIN champions h ON h.search = s.id WHERE s.id = :search),
counts AS MATERIALIZED (
  SELECT max(f.searched) AS searched, max(f.verified) AS verified, sum(e.status = 'duplicate') AS duplicates,
         sum(e.status = 'pruned') AS pruned,
         sum(e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')) AS failed
  FROM evaluations e LEFT JOIN search_figures f ON f.search_id = e.search_id WHERE e.search_id = :search),
baseline AS MATERIALIZED (
  SELECT label, min(score_ns) AS score_ns FROM (
    SELECT m.label, exp(sum(w.weight * ln(m.median_ns)) / sum(w.weight)) AS score_ns
    FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'baseline' AND m.cold = 1
    JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
    WHERE e.search_id = :search GROUP BY e.id, m.label)),
asked AS MATERIALIZED (
  SELECT sum(calls) AS calls, sum(priced_usd) AS priced_usd, sum(unpriced_calls) AS unpriced_calls,
         total(input_tokens) + total(output_tokens) AS tokens
  FROM spend WHERE search = :search),
best AS MATERIALIZED (
  SELECT json_group_array(best) AS history FROM (SELECT min(best) AS best FROM (
    SELECT best, ntile(100) OVER () AS part FROM (
      SELECT coalesce(best_so_far_us, best_emulated_cost_us) AS best FROM progress WHERE search = :search AND best IS NOT NULL
      LIMIT 5000)) GROUP BY part ORDER BY part))
SELECT iif(kind = 'emulator', 'lowest estimated cost', 'best score') AS label, quantity(score_ns, 'ns') AS value,
       'variant ' || variant || iif(confirmed, ', measured again in a fresh process', '') AS note, 'good' AS tone,
       (SELECT history FROM best) AS history
FROM this WHERE score_ns IS NOT NULL
UNION ALL
SELECT 'speed-up', quantity(b.score_ns / t.score_ns, 'ratio'), 'against ' || b.label || ', the fastest baseline timed with it',
       iif(b.score_ns > t.score_ns, 'good', 'bad'), NULL
FROM this t, baseline b WHERE t.kind <> 'emulator' AND b.score_ns / t.score_ns IS NOT NULL
UNION ALL SELECT 'evaluations', searched, verified || ' verified, ' || duplicates || ' duplicates, ' || pruned || ' pruned', NULL, NULL
FROM counts WHERE searched IS NOT NULL
UNION ALL SELECT 'failed', failed, 'evaluations', iif(failed > 0, 'warn', NULL), NULL FROM counts WHERE failed IS NOT NULL
UNION ALL
SELECT 'searched for',
       quantity(coalesce((SELECT nullif(max(x.spent_ms), 0) / 60e3 FROM session_searches x WHERE x.search_id = :search),
                         (julianday(coalesce(ended_at, (SELECT max(ended_at) FROM evaluations WHERE search_id = :search)))
                          - julianday(started_at)) * 1440), 'minutes'),
       'since ' || replace(substr(started_at, 1, 16), 'T', ' ') || ' UTC', NULL, NULL FROM this
UNION ALL
SELECT iif(priced_usd IS NULL, 'tokens of models', 'cost of models'),
       iif(priced_usd IS NULL, quantity(tokens, 'count'), quantity(priced_usd, 'usd')),
       calls || ' calls' || iif(unpriced_calls > 0, ', ' || unpriced_calls || ' of unknown price', ''), NULL, NULL
FROM asked WHERE calls > 0;
-- @commands What to type in a terminal
WITH chosen AS MATERIALIZED (
  SELECT r.session_id, r.state FROM session_searches r WHERE r.search_id = :search ORDER BY r.id DESC LIMIT 1)
SELECT 'Begin the same again' AS title, command AS text FROM searches WHERE id = :search
UNION ALL SELECT 'Stop its session: the best kernels are on disk then', 'alphakernel session stop ' || session_id
FROM chosen WHERE state = 'running'
UNION ALL SELECT 'Go on with its session', 'alphakernel session resume ' || session_id FROM chosen WHERE state NOT IN ('finished')
UNION ALL SELECT 'Explain its champion', 'alphakernel explain ' || variant FROM champions WHERE search = :search
UNION ALL SELECT 'Export its champion', 'alphakernel export ' || variant || ' --output kernel/' FROM champions WHERE search = :search
UNION ALL SELECT 'Budgets it was given', budgets FROM searches WHERE id = :search;
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
-- @x Tunables for the heat map, across
SELECT DISTINCT j.key FROM evaluations e JOIN variants v ON v.id = e.variant_id, json_each(v.tunables) j
WHERE e.search_id = :search AND e.status = 'ok' ORDER BY j.key LIMIT 100;
-- @y Tunables for the heat map, down
SELECT DISTINCT j.key FROM evaluations e JOIN variants v ON v.id = e.variant_id, json_each(v.tunables) j
WHERE e.search_id = :search AND e.status = 'ok' ORDER BY j.key LIMIT 100;
-- @space Best score at each point of two tunables
WITH points AS MATERIALIZED (
  SELECT v.id, v.tunables, v.source_id, min(e.score_ns) AS score_ns
  FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN devices dev ON dev.id = e.device_id
  WHERE e.search_id = :search AND e.status = 'ok' AND e.score_ns IS NOT NULL AND dev.kind <> 'emulator'
  GROUP BY v.id LIMIT 5000),
-- Without a choice: the two tunables of which the fastest source had most values.
own AS MATERIALIZED (
  SELECT j.key, row_number() OVER (ORDER BY count(DISTINCT j.value) DESC, j.key) AS place
  FROM points, json_each(points.tunables) j
  WHERE points.source_id = (SELECT source_id FROM points ORDER BY score_ns LIMIT 1)
    AND (:x IS NULL OR j.key <> :x) AND (:y IS NULL OR j.key <> :y)
  GROUP BY j.key HAVING count(DISTINCT j.value) > 1)
SELECT a.value AS x, b.value AS y, min(points.score_ns) / 1000.0 AS best_us, count(*) AS points, a.key AS x_tunable, b.key AS y_tunable
FROM points, json_each(points.tunables) a, json_each(points.tunables) b
WHERE a.key = coalesce(:x, (SELECT key FROM own WHERE place = 1))
  AND b.key = coalesce(:y, (SELECT key FROM own WHERE place = 1 + (:x IS NULL)))
GROUP BY a.value, b.value ORDER BY a.value, b.value LIMIT 1000;
-- @costs Lowest estimated cost at each point of two tunables
WITH points AS MATERIALIZED (
  SELECT v.id, v.tunables, v.source_id, min(e.score_ns) AS score_ns
  FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN devices dev ON dev.id = e.device_id
  WHERE e.search_id = :search AND e.status = 'ok' AND e.score_ns IS NOT NULL AND dev.kind = 'emulator'
  GROUP BY v.id LIMIT 5000),
-- Without a choice: the two tunables of which the fastest source had most values.
own AS MATERIALIZED (
  SELECT j.key, row_number() OVER (ORDER BY count(DISTINCT j.value) DESC, j.key) AS place
  FROM points, json_each(points.tunables) j
  WHERE points.source_id = (SELECT source_id FROM points ORDER BY score_ns LIMIT 1)
    AND (:x IS NULL OR j.key <> :x) AND (:y IS NULL OR j.key <> :y)
  GROUP BY j.key HAVING count(DISTINCT j.value) > 1)
SELECT a.value AS x, b.value AS y, min(points.score_ns) / 1000.0 AS best_emulated_cost_us, count(*) AS points, a.key AS x_tunable, b.key AS y_tunable
FROM points, json_each(points.tunables) a, json_each(points.tunables) b
WHERE a.key = coalesce(:x, (SELECT key FROM own WHERE place = 1))
  AND b.key = coalesce(:y, (SELECT key FROM own WHERE place = 1 + (:x IS NULL)))
GROUP BY a.value, b.value ORDER BY a.value, b.value LIMIT 1000;
-- @lineage Which source came from which; points of a source are counted at it
WITH proposed AS MATERIALIZED (
  SELECT v.source_id, p.variant_id, p.iteration, p.proposer, p.arm, p.llm_call_id, p.id AS proposal_id, v.name
  FROM proposals p JOIN variants v ON v.id = p.variant_id
  WHERE p.search_id = :search AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')
  ORDER BY p.id LIMIT 5000),
firsts AS MATERIALIZED (
  SELECT source_id, min(proposal_id) AS proposal_id, count(DISTINCT variant_id) AS points FROM proposed GROUP BY source_id),
parents AS MATERIALIZED (
  SELECT f.source_id, f.points, p.variant_id, p.arm, p.proposer, p.llm_call_id, p.name,
         (SELECT b.source_id FROM variant_parents r JOIN variants b ON b.id = r.parent_id
          WHERE r.variant_id = p.variant_id AND b.source_id <> f.source_id ORDER BY b.id LIMIT 1) AS parent_source
  FROM firsts f JOIN proposed p ON p.proposal_id = f.proposal_id),
results AS MATERIALIZED (
  SELECT v.source_id, min(iif(e.status = 'ok', e.score_ns, NULL)) AS score_ns, sum(e.status = 'ok') AS verified,
         max(e.status) AS any_status
  FROM evaluations e JOIN variants v ON v.id = e.variant_id WHERE e.search_id = :search GROUP BY v.source_id)
SELECT n.source_id AS id, n.parent_source AS parent, n.name || ' (' || n.arm || ')' AS label,
       iif(r.verified > 0, 'ok', r.any_status) AS status,
       iif((SELECT dev.kind FROM searches s JOIN devices dev ON dev.id = s.device_id WHERE s.id = :search) <> 'emulator',
           r.score_ns, NULL) / 1000.0 AS best_us,
       iif((SELECT dev.kind FROM searches s JOIN devices dev ON dev.id = s.device_id WHERE s.id = :search) = 'emulator',
           r.score_ns, NULL) / 1000.0 AS best_emulated_cost_us,
       n.points, n.variant_id AS variant, n.llm_call_id AS call,
       iif(n.parent_source IS NOT NULL OR n.llm_call_id IS NOT NULL, 'step?step=' || n.variant_id, NULL) AS address
FROM parents n LEFT JOIN results r ON r.source_id = n.source_id ORDER BY n.variant_id LIMIT 300;
-- @leaders Its fastest variants
WITH champion AS (SELECT evaluation, score_ns FROM champions WHERE search = :search)
SELECT e.variant_id AS variant, iif(dev.kind <> 'emulator', min(e.score_ns), NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', min(e.score_ns), NULL) / 1000.0 AS emulated_cost_us,
       v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables, p.proposer, p.arm, e.occupancy_ratio, e.shared_bytes
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN devices dev ON dev.id = e.device_id LEFT JOIN champion h
WHERE e.search_id = :search AND e.status = 'ok' AND e.score_ns IS NOT NULL
  AND p.arm NOT IN ('comparison', 'examination', 'held_out', 'profile')
  AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
GROUP BY e.variant_id
ORDER BY min(max(e.score_ns, ifnull(h.score_ns, 0))), max(h.evaluation IS e.id) DESC, min(e.score_ns) LIMIT 15;
-- @comparisons Challengers timed in pairs with the champion of the time
SELECT challenger AS variant, champion, workload, challenger_us, champion_us, ratio, pairs, status,
       substr(message, 1, 160) AS message
FROM comparisons WHERE search = :search ORDER BY evaluation DESC LIMIT 40;
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
SELECT model, arm, exchanges, calls, mean_reward, took_the_lead, input_tokens, output_tokens, cost_usd,
       nullif(unpriced_calls, 0) AS unpriced_calls
FROM llm_arms WHERE search = :search ORDER BY mean_reward DESC LIMIT 30;
-- @latest_answers The latest answers of models
SELECT c.arm || ': ' || c.model AS title, iif(c.status = 'ok', 'ok', iif(c.status = 'sent', 'running', 'failed')) AS status, nullif(nullif(c.status, 'ok'), 'sent') AS fault,
       c.id AS call, c.search_id AS transcript, c.started_at, c.output_tokens, c.cost_usd, c.reward,
       coalesce(nullif(substr(c.answer, 1, 60000), ''), nullif(c.message, ''), 'No answer yet.') AS text
FROM llm_calls c WHERE c.search_id = :search AND (c.answer IS NULL OR c.answer <> '') ORDER BY c.id DESC LIMIT 2;
-- @calls Its questions to language models
SELECT c.id AS call, c.started_at, c.model, c.arm, c.status, c.stop, c.input_tokens, c.output_tokens, c.cost_usd,
       c.latency_ms, c.reward, substr(c.message, 1, 120) AS message
FROM llm_calls c WHERE c.search_id = :search ORDER BY c.id DESC LIMIT 50;
-- @hypotheses What models expected of their changes, and what came of it
SELECT change, reason AS why, quantity(expected_speedup, 'ratio') AS expected, quantity(measured_speedup, 'ratio') AS measured,
       verdict, variant, parent, model
FROM hypothesis_results WHERE search = :search ORDER BY hypothesis DESC LIMIT 50;
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
