-- Failures
--
-- @causes Candidates that did not pass, by how and where they ended
SELECT f.status, f.stage, f.gate, count(*) AS candidates, count(DISTINCT f.search_id) AS searches, max(f.message) AS example
FROM evaluations f
WHERE f.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted') AND f.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2, 3 ORDER BY candidates DESC LIMIT 40;

-- @proposers Who proposed what failed
SELECT p.proposer, p.arm, count(*) AS evaluations, sum(e.status = 'ok') AS passed,
       round(100.0 * avg(e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')), 1) AS failed_pct
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2 ORDER BY evaluations DESC LIMIT 30;
