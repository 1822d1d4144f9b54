-- Failures
--
-- @groups Candidates that did not pass, by cause
WITH failed AS (
  SELECT e.status, e.search_id,
         CASE WHEN e.status IN ('incorrect', 'nondeterministic') THEN 'wrong results'
              WHEN e.status IN ('invalid_candidate', 'compile_error', 'resource_exceeded') THEN 'does not build or fit'
              WHEN e.status IN ('launch_error', 'memory_error', 'race', 'hang') THEN 'faults of memory, threads or launches'
              WHEN e.status IN ('integrity_violation', 'below_floor') THEN 'deceives the checks'
              WHEN e.status IN ('timeout', 'out_of_memory') THEN 'too slow or too large'
              ELSE 'the environment' END AS cause
  FROM evaluations e
  WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted') AND e.search_id IN (SELECT id FROM report_searches))
SELECT cause, count(*) AS candidates, 100.0 * count(*) / sum(count(*)) OVER () AS share_pct, count(DISTINCT search_id) AS searches,
       group_concat(DISTINCT status) AS statuses
FROM failed GROUP BY cause ORDER BY candidates DESC, cause;

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
