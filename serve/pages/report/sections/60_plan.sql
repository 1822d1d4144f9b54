-- Plan for the next week
--
-- @steps Next steps, those that are known to gain most first
WITH latest AS (  -- what was spent on each definition, target and device kind, for the size of the next search
  SELECT k.*, (SELECT f.searched FROM search_figures f WHERE f.search_id = k.search) AS searched,
         (SELECT t.command LIKE '%--problem%' FROM searches t WHERE t.id = k.search) AS own_problem,
         (SELECT replace(i.bottleneck, '_', ' ') FROM insights i WHERE i.kind = 'bottleneck' AND i.algorithm = k.problem AND i.subject = k.definition
            AND i.device = k.device ORDER BY i.id DESC LIMIT 1) AS limited_by
  FROM report_kernels k),
search_again AS (
  SELECT *, iif(own_problem, NULL, nullif(search_command(problem, json_patch((SELECT params FROM definitions d WHERE d.id = definition_id),
            json_object('arch', arch, 'max-evaluations', max(100, 2 * ifnull(searched, 50))))), '')) AS command
  FROM latest)
SELECT step, expected_gain, command, why FROM (
  SELECT 1 AS rank, c.id AS place, 'go on with session ' || c.id || ', ' || c.name AS step,
         count(*) || iif(count(*) = 1, ' search is', ' searches are') || ' not done' AS expected_gain, 'alphakernel session resume ' || c.id AS command,
         'the session is ' || c.status || iif(c.reason = '', '', ': ' || c.reason) AS why
  FROM sessions c JOIN session_searches r ON r.session_id = c.id
  WHERE c.status IN ('stopped', 'suspended', 'failed') AND r.state IN ('queued', 'running', 'stopped', 'suspended') GROUP BY c.id
  UNION ALL
  SELECT 2, speedup, 'catch up with ' || baseline || ' on ' || kernel, printf('%s is known to be possible', quantity(1 / speedup, 'ratio'))
           || iif(limit_ns > 0 AND device_kind = 'cuda', printf('; at most %s', quantity(score_ns / limit_ns, 'ratio')), ''), command,
         'slower than ' || baseline || ifnull('; limited by: ' || limited_by, '')
  FROM search_again WHERE verdict = 'slower'
  UNION ALL
  SELECT 3, before_ns / score_ns, 'win back the best of ' || kernel, printf('%s, as search %d had it', quantity(score_ns / before_ns, 'ratio'), before_search), command,
         'the best from before was not reached'
  FROM search_again WHERE regression
  UNION ALL
  -- Above 90 % of the limit little is left to find.
  SELECT 4, limit_ns / score_ns, 'search on for ' || kernel, printf('at most %s', quantity(score_ns / limit_ns, 'ratio')), command,
         printf('%.0f %% of the limit', 100 * limit_ns / score_ns) || ifnull('; limited by: ' || limited_by, '')
  FROM search_again WHERE device_kind = 'cuda' AND limit_ns > 0 AND limit_ns < 0.9 * score_ns AND verdict IS NOT 'slower'
  UNION ALL
  SELECT 5, s.id, 'run search ' || s.id || ' again, ' || d.name, 'no result yet',
         iif(s.command LIKE '%--problem%', NULL, nullif(search_command(d.problem, json_patch(d.params, json_object('arch', s.arch))), '')), 'it ' || iif(s.status = 'failed', 'failed', 'was ' || s.status) || iif(s.reason = '', '', ': ' || s.reason)
  FROM searches s JOIN definitions d ON d.id = s.definition_id
  WHERE s.status IN ('failed', 'interrupted', 'stopped') AND s.best_variant_id IS NULL AND s.proposer <> 'user' AND s.id IN (SELECT id FROM report_searches)
    AND NOT EXISTS (SELECT 1 FROM session_searches r WHERE r.search_id = s.id)
    AND NOT EXISTS (SELECT 1 FROM searches t WHERE t.definition_id = s.definition_id AND t.device_id = s.device_id AND t.status = 'finished' AND t.started_at > s.started_at))
ORDER BY rank, place LIMIT 30;

-- @open Searches that have not ended, and what is left of their limits
SELECT r.name, r.state, c.id AS session, c.name AS queue, r.evaluations, r.budgets ->> 'max_evaluations' AS allowed, r.best_ns / 1000 AS best_us,
       r.search_id AS search, r.reason
FROM sessions c JOIN session_searches r ON r.session_id = c.id
WHERE c.status IN ('queued', 'running', 'stopped', 'suspended', 'failed') AND r.state IN ('queued', 'running', 'stopped', 'suspended')
ORDER BY c.id DESC, r.priority DESC, r.position LIMIT 50;
