-- Challengers timed in pairs with the champion, and the result.
-- search: its number; the latest where not given (integer)
SELECT workload, challenger, champion, round(challenger_us, 3) AS challenger_us, round(champion_us, 3) AS champion_us,
       round(ratio, 4) AS ratio, pairs, message
FROM comparisons WHERE search = ifnull(:search, (SELECT id FROM searches ORDER BY started_at DESC, id DESC LIMIT 1))
ORDER BY evaluation
