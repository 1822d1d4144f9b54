-- Blockers
--
-- @searches Searches that did not end well
SELECT s.id AS search, d.name AS definition, s.status, s.reason, v.name AS device, s.started_at
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id
WHERE s.status IN ('failed', 'interrupted', 'stopped') AND s.id IN (SELECT id FROM report_searches)
ORDER BY s.status = 'failed' DESC, s.id DESC LIMIT 50;

-- @queues Sessions that did not come to their end
SELECT c.id AS session, c.name AS queue, c.status, c.reason, count(*) AS searches, sum(r.state = 'finished') AS done, sum(r.state = 'failed') AS failed,
       sum(r.state = 'skipped') AS skipped, sum(r.state IN ('stopped', 'suspended', 'queued', 'running')) AS "left", c.started_at
FROM sessions c JOIN session_searches r ON r.session_id = c.id
WHERE c.started_at < :until AND (c.started_at >= :since OR c.ended_at >= :since OR c.id IN
      (SELECT session_id FROM session_searches WHERE search_id IN (SELECT id FROM report_searches)))
GROUP BY c.id HAVING c.status IN ('stopped', 'suspended', 'failed') OR sum(r.state IN ('failed', 'skipped')) > 0
ORDER BY c.id DESC LIMIT 30;

-- @models Language models that did not answer
SELECT c.model, c.status, count(*) AS calls, max(c.message) AS example
FROM llm_calls c WHERE c.status <> 'ok' AND c.search_id IN (SELECT id FROM report_searches)
GROUP BY c.model, c.status ORDER BY calls DESC LIMIT 20;

-- @environment Evaluations that failed because of the environment
SELECT e.status, e.stage, count(*) AS evaluations, max(e.message) AS example
FROM evaluations e WHERE e.status IN ('infrastructure_error', 'unsupported', 'out_of_memory', 'timeout') AND e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2 ORDER BY evaluations DESC LIMIT 20;
