-- The latest sessions: queues of searches, how far they are, what they found and spent.
-- limit: most rows (integer, 20)
SELECT q.id AS session, q.name, q.status, q.reason, count(r.id) AS searches, count(r.id) FILTER (WHERE r.state = 'finished') AS finished,
       sum(r.evaluations) AS evaluations, sum(r.verified) AS verified, round(sum(r.spent_ms) / 60000.0, 1) AS minutes,
       sum(r.tokens) AS tokens, round(iif(max(EXISTS (SELECT 1 FROM spend x WHERE x.search = r.search_id AND x.unpriced_calls > 0)), NULL, sum(r.cost_usd)), 4)
         AS cost_usd, q.started_at
FROM sessions q LEFT JOIN session_searches r ON r.session_id = q.id
GROUP BY q.id ORDER BY q.started_at DESC, q.id DESC LIMIT :limit
