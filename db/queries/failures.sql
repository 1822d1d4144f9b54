-- What goes wrong: failures by stage, status and gate, with an example.
-- search: of this search alone (integer)
SELECT stage, status, gate, count(*) AS failures, count(DISTINCT variant) AS variants, max(variant) AS example,
       substr(max(message), 1, 120) AS message
FROM failures
WHERE ifnull(:search, search) = search
GROUP BY stage, status, gate ORDER BY failures DESC
