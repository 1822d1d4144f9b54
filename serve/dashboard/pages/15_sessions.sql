-- Sessions
-- session: Session (integer)
--
-- @sessions The latest sessions
SELECT s.id AS session, s.name, s.status, s.started_at, s.ended_at, coalesce(nullif(s.reason, ''), 'no other reason') AS reason,
       (SELECT count(*) FROM session_searches r WHERE r.session_id = s.id) AS searches,
       (SELECT count(*) FROM session_searches r WHERE r.session_id = s.id AND r.state IN ('finished', 'stopped', 'failed', 'skipped'))
         AS done
FROM sessions s ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC LIMIT 20;
-- @tiles What the session came to
WITH chosen AS MATERIALIZED (
  SELECT * FROM sessions WHERE id = coalesce(:session, (SELECT id FROM sessions ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 1))),
runs AS MATERIALIZED (SELECT r.* FROM chosen c JOIN session_searches r ON r.session_id = c.id)
SELECT 'state' AS label, status AS value, nullif(reason, '') AS note, iif(status = 'running', 'info', NULL) AS tone FROM chosen
UNION ALL
SELECT 'searches done', sum(state IN ('finished', 'stopped', 'failed', 'skipped')) || ' of ' || count(*),
       sum(state = 'failed') || ' failed', iif(sum(state = 'failed') > 0, 'bad', NULL) FROM runs HAVING count(*) > 0
UNION ALL SELECT 'evaluations', sum(evaluations), sum(verified) || ' verified', NULL FROM runs HAVING count(*) > 0
UNION ALL SELECT 'searching', quantity(total(spent_ms), 'ms'), 'of all its processes', NULL FROM runs HAVING total(spent_ms) > 0
UNION ALL SELECT 'models', iif(unpriced AND usd = 0, 'price unknown', quantity(usd, 'usd')),
                 printf('%.0f thousand tokens', tokens / 1000) || iif(unpriced AND usd > 0, ', some of unknown price', ''), NULL
FROM (SELECT total(cost_usd) AS usd, total(tokens) AS tokens,
             EXISTS (SELECT 1 FROM spend x WHERE x.search IN (SELECT search_id FROM runs) AND x.unpriced_calls > 0) AS unpriced
      FROM runs) WHERE tokens > 0;
-- @runs Its searches
SELECT r.search_id AS search, r.name, r.state, r.best_ns / 1000.0 AS best_us, r.baseline, r.baseline_ns / 1000.0 AS baseline_us,
       round(r.baseline_ns / r.best_ns, 2) AS speedup, 100.0 * r.limit_ns / r.best_ns AS of_limit_pct, r.evaluations, r.verified,
       r.spent_ms / 60000.0 AS spent_minutes, r.model, r.tokens, s.verdict, r.reason
FROM session_searches r LEFT JOIN searches s ON s.id = r.search_id LEFT JOIN devices dev ON dev.id = s.device_id
WHERE r.session_id = coalesce(:session, (SELECT id FROM sessions ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 1))
  AND ifnull(dev.kind, '') <> 'emulator' ORDER BY r.position LIMIT 200;
-- @emulated_runs Its searches on the CPU device, with estimated costs
SELECT r.search_id AS search, r.name, r.state, r.best_ns / 1000.0 AS emulated_cost_us, r.evaluations, r.verified,
       r.spent_ms / 60000.0 AS spent_minutes, r.model, r.tokens, s.verdict, r.reason
FROM session_searches r JOIN searches s ON s.id = r.search_id JOIN devices dev ON dev.id = s.device_id
WHERE r.session_id = coalesce(:session, (SELECT id FROM sessions ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 1))
  AND dev.kind = 'emulator' ORDER BY r.position LIMIT 200;
-- @rounds Who went on in which round, and why
SELECT o.number AS round, r.search_id AS search, r.name, o.evaluations AS evaluations_in_all, o.minutes AS in_all_minutes,
       iif(o.closes, 'ends with it', NULL) AS then_it, o.why
FROM session_searches r JOIN session_rounds o ON o.session_search_id = r.id
WHERE r.session_id = coalesce(:session, (SELECT id FROM sessions ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 1))
ORDER BY o.number LIMIT 200;
-- @commands What to type in a terminal
WITH chosen AS MATERIALIZED (
  SELECT * FROM sessions WHERE id = coalesce(:session, (SELECT id FROM sessions ORDER BY status = 'running' DESC, started_at DESC, id DESC LIMIT 1)))
SELECT 'Watch it' AS title, 'alphakernel session status ' || id || ' --watch' AS text FROM chosen
UNION ALL SELECT 'Follow its log', 'alphakernel session log ' || id || ' --follow' FROM chosen
UNION ALL SELECT 'Stop it: the best kernels are on disk then', 'alphakernel session stop ' || id FROM chosen WHERE status = 'running'
UNION ALL SELECT 'Go on with it', 'alphakernel session resume ' || id FROM chosen WHERE status IN ('running', 'stopped', 'suspended', 'failed')
UNION ALL SELECT 'Begin the same again', command FROM chosen;
