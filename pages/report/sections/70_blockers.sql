-- Blockers
--
-- @searches Searches that did not end well
SELECT s.id AS search, d.name AS definition, v.name AS device, s.status, s.reason, s.started_at
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id
WHERE s.status IN ('failed', 'interrupted') AND s.id IN (SELECT id FROM report_searches)
ORDER BY s.id DESC LIMIT 50;

-- @models Language models that did not answer
SELECT c.model, c.status, count(*) AS calls, max(c.message) AS example
FROM llm_calls c WHERE c.status <> 'ok' AND c.search_id IN (SELECT id FROM report_searches)
GROUP BY c.model, c.status ORDER BY calls DESC LIMIT 20;

-- @environment Evaluations that failed because of the environment
SELECT e.status, e.stage, count(*) AS evaluations, max(e.message) AS example
FROM evaluations e WHERE e.status IN ('infrastructure_error', 'unsupported', 'out_of_memory', 'timeout') AND e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2 ORDER BY evaluations DESC LIMIT 20;
