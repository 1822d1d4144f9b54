-- Insights
-- algorithm: Algorithm (text)
-- kind: Kind (text)
-- q: Text in the insight (text)
--
-- @algorithm Algorithms
SELECT DISTINCT algorithm FROM insights ORDER BY algorithm LIMIT 200;
-- @kind Kinds
SELECT DISTINCT kind FROM insights ORDER BY kind LIMIT 20;
-- @kinds What was learned, by kind
SELECT kind, count(*) AS insights, sum(tries) AS tries, sum(wins) AS wins FROM insights
GROUP BY kind ORDER BY insights DESC LIMIT 10;
-- @insights Those that rest on most comparisons first
SELECT i.algorithm, i.kind, i.text, i.tries, i.wins, i.ratio, i.arch, i.device, i.device_kind, i.bottleneck,
       i.search_id AS search, i.created_at
FROM insights i
WHERE ifnull(:algorithm, i.algorithm) = i.algorithm AND ifnull(:kind, i.kind) = i.kind
  AND (:q IS NULL OR instr(lower(i.text), lower(:q)) > 0)
ORDER BY i.tries DESC, i.id LIMIT 100;
