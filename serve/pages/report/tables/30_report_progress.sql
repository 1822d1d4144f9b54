-- How each search of the report went: what it tried, after how many evaluations it had a candidate with 90 % of the speed that
-- it ended with, and the first and the best score that passed. What is done to leaders is not counted.
WITH tried AS MATERIALIZED (
  SELECT e.search_id AS search, row_number() OVER (PARTITION BY e.search_id ORDER BY e.id) AS number, CASE WHEN e.status = 'ok' THEN e.score_ns END AS score_ns
  FROM searches s JOIN evaluations e ON e.search_id = s.id JOIN proposals p ON p.id = e.proposal_id
  WHERE s.id IN (SELECT id FROM report_searches) AND s.proposer <> 'user' AND e.status <> 'pruned'
    AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')),
reached AS (SELECT search, max(number) AS evaluations, min(score_ns) AS best_ns, min(CASE WHEN score_ns IS NOT NULL THEN number END) AS first FROM tried GROUP BY search)
SELECT r.search, r.evaluations, r.best_ns, (SELECT t.score_ns FROM tried t WHERE t.search = r.search AND t.number = r.first) AS first_ns,
       (SELECT min(t.number) FROM tried t WHERE t.search = r.search AND t.score_ns <= r.best_ns / 0.9) AS to_90
FROM reached r WHERE r.best_ns IS NOT NULL
