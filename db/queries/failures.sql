-- What goes wrong: failures by stage, status and gate, with an example.
-- session: of this session alone (integer)
SELECT stage, status, gate, count(*) AS failures, count(DISTINCT variant) AS variants, max(variant) AS example,
       substr(max(message), 1, 120) AS message
FROM failures
WHERE ifnull(:session, session) = session
GROUP BY stage, status, gate ORDER BY failures DESC
