-- One row a kernel of the report: the best champion that its searches ended with on each definition, product, target and set
-- of shapes, next to its strongest baseline, the limit of the device and the best from before.
--
-- Baselines were measured by the same search, so in the same hours, and some in turns with the champion; the strongest is the
-- one over which the speed-up is least. Of turns the interval is theirs; else it takes the 95 % intervals of the medians as
-- independent: on a logarithmic scale their half widths add as squares, by the weights of the shapes. Where a time has no interval, as a cost of the CPU device, there is none.
WITH best AS MATERIALIZED (
  SELECT *, min(score_ns) FROM report_champions WHERE reported GROUP BY definition_id, device, device_kind, arch, workloads_hash),
before AS MATERIALIZED (
  SELECT *, min(score_ns) FROM report_champions
  WHERE NOT reported AND started_at < (SELECT min(started_at) FROM searches WHERE id IN (SELECT id FROM report_searches))
  GROUP BY definition_id, device, device_kind, arch, workloads_hash),
-- CROSS: in this order; from the measurements it would read all of them.
shape AS MATERIALIZED (
  SELECT b.search, w.id AS workload_id, w.name, w.weight, m.median_ns, ln(m.ci_high_ns / m.ci_low_ns) / 2 AS half,
         max(1.0 * coalesce(w.bytes_read + w.bytes_written, 0) / nullif(l.peak_gbps, 0),
             coalesce(1.0 * w.flops / nullif(l.peak_tflops, 0) / 1000, 0)) AS limit_ns
  FROM best b CROSS JOIN measurements m ON m.evaluation_id = b.evaluation AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
  JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
  LEFT JOIN device_limits l ON l.definition = b.definition_id AND l.device_id = b.device_id
  GROUP BY b.search, w.id),
own AS (
  SELECT search, sqrt(sum(weight * weight * half * half)) / sum(weight) AS half, count(half) = count(*) AS known,
         iif(min(limit_ns) > 0, exp(sum(weight * ln(nullif(limit_ns, 0))) / sum(weight)), NULL) AS limit_ns,
         group_concat(name, ', ') AS shapes
  FROM (SELECT * FROM shape ORDER BY search, workload_id) GROUP BY search),
-- In turns with the champion, on all of its shapes: two of these times were taken at the same moments.
turned AS (
  SELECT b.search, t.baseline AS label, exp(sum(w.weight * ln(t.speedup)) / sum(w.weight)) AS speedup,
         sqrt(sum(w.weight * w.weight * ln(t.high / t.low) * ln(t.high / t.low) / 4)) / sum(w.weight) AS half
  FROM best b CROSS JOIN baseline_turns t ON t.search = b.search AND t.variant = b.variant AND t.times = 'device' AND t.baseline <> 'itself'
  JOIN workloads w ON w.id = t.workload_id AND w.timed = 1
  GROUP BY b.search, t.baseline HAVING count(*) = (SELECT count(*) FROM shape o WHERE o.search = b.search)),
apart AS (
  SELECT b.search, m.label, exp(sum(w.weight * ln(m.median_ns)) / sum(w.weight)) / b.score_ns AS speedup,
         sqrt(sum(w.weight * w.weight * ln(m.ci_high_ns / m.ci_low_ns) * ln(m.ci_high_ns / m.ci_low_ns) / 4)) / sum(w.weight) AS half,
         count(m.ci_high_ns) = count(*) AS known
  FROM best b JOIN evaluations e ON e.search_id = b.search AND iif(json_valid(e.request), e.request ->> '$.library', NULL) IS NULL
  CROSS JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'baseline' AND m.cold = 1
    AND m.median_ns > 0
  JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
  GROUP BY e.id, m.label),
rival AS (
  SELECT search, label, half, min(speedup) AS speedup FROM (
    SELECT search, label, speedup, half FROM turned
    UNION ALL
    SELECT a.search, a.label, a.speedup, iif(o.known AND a.known, sqrt(o.half * o.half + a.half * a.half), NULL)
    FROM apart a LEFT JOIN own o ON o.search = a.search
    WHERE NOT EXISTS (SELECT 1 FROM turned t WHERE t.search = a.search AND t.label = a.label))
  GROUP BY search),
compared AS (
  SELECT b.*, d.name AS definition, d.problem, n.name AS template, o.shapes, o.limit_ns, iif(r.label = 'naive', 'the naive reference', r.label) AS baseline, b.score_ns * r.speedup AS baseline_ns,
         r.speedup, r.half,
         p.score_ns AS before_ns, p.search AS before_search
  FROM best b JOIN definitions d ON d.id = b.definition_id JOIN variants n ON n.id = b.variant
  LEFT JOIN own o ON o.search = b.search LEFT JOIN rival r ON r.search = b.search
  LEFT JOIN before p ON p.definition_id = b.definition_id AND p.device = b.device AND p.device_kind = b.device_kind AND p.arch = b.arch
    AND p.workloads_hash IS b.workloads_hash)
-- 2 %: times of one kernel in two sessions differ by less (docs/timing.md), as for what is learned (50_learned).
SELECT definition || iif(count(*) OVER (PARTITION BY definition) > 1, ' on ' || device || ', ' || arch, '')
         || iif(count(*) OVER (PARTITION BY definition, device, device_kind, arch) > 1, ' (' || substr(ifnull(shapes, 'search ' || search), 1, 60) || ')', '') AS kernel,
       definition_id, definition, problem, device, device_kind, device_id, arch, workloads_hash, search, variant, evaluation, template, shapes,
       score_ns, baseline, baseline_ns, speedup, speedup * exp(-half) AS low, speedup * exp(half) AS high, limit_ns, before_ns, before_search,
       CASE WHEN speedup IS NULL THEN NULL
            WHEN speedup * exp(ifnull(half, 0.02)) < 1 THEN 'slower' WHEN speedup * exp(-ifnull(half, 0.02)) > 1 THEN 'faster' ELSE 'even' END AS verdict,
       ifnull(score_ns > 1.02 * before_ns, 0) AS regression
FROM compared
