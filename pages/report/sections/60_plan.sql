-- Plan for the next week
--
-- @open Searches that have not ended, and what is left of their limits
SELECT c.id AS session, c.name AS queue, r.name, r.search_id AS search, r.state, r.evaluations, r.budgets ->> 'max_evaluations' AS allowed,
       r.best_ns / 1000 AS best_us, r.reason
FROM sessions c JOIN session_searches r ON r.session_id = c.id
WHERE c.status IN ('queued', 'running', 'stopped', 'failed') AND r.state IN ('queued', 'running', 'stopped')
ORDER BY c.id DESC, r.priority DESC, r.position LIMIT 50;

-- @promising Problems by what there is to gain: the distance of the best known to the speed of light
WITH champion AS (
  SELECT c.*, min(c.score_ns) FROM report_champions c WHERE c.device_kind = 'cuda' GROUP BY c.definition_id, c.device, c.arch),
-- CROSS: in this order; from the measurements it would read all of them.
call AS (
  SELECT c.definition_id, c.device, c.arch, c.score_ns, w.id AS workload_id, w.weight,
         max(1.0 * coalesce(w.bytes_read + w.bytes_written, 0) / nullif(l.peak_gbps, 0),
             coalesce(1.0 * w.flops / nullif(l.peak_tflops, 0) / 1000, 0)) AS limit_ns
  FROM champion c CROSS JOIN evaluations e ON +e.search_id = c.search AND e.variant_id = c.variant AND e.status = 'ok'
  CROSS JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1
  JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
  JOIN device_limits l ON l.definition = c.definition_id AND l.device_id = c.device_id
  GROUP BY 1, 2, 3, w.id),
gap AS (
  SELECT definition_id, device, arch, score_ns, exp(sum(weight * ln(limit_ns)) / sum(weight)) AS limit_ns
  FROM call WHERE limit_ns > 0 GROUP BY 1, 2, 3)
SELECT d.name AS definition, g.device, g.arch, g.score_ns / 1000 AS best_us, g.limit_ns / 1000 AS limit_us, round(g.score_ns / g.limit_ns, 2) AS times_the_limit,
       (SELECT i.bottleneck FROM insights i WHERE i.kind = 'bottleneck' AND i.algorithm = d.problem AND i.device = g.device ORDER BY i.id DESC LIMIT 1) AS limited_by,
       (SELECT count(*) FROM searches s JOIN devices v ON v.id = s.device_id WHERE s.definition_id = g.definition_id AND v.name = g.device) AS searches_so_far
FROM gap g JOIN definitions d ON d.id = g.definition_id
ORDER BY times_the_limit DESC LIMIT 20;
