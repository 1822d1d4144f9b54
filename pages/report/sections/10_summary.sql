-- Summary
--
-- @totals What ran
SELECT printf('%d search%s on %d problem%s and %d device%s', count(DISTINCT s.id), iif(count(DISTINCT s.id) = 1, '', 'es'),
              count(DISTINCT s.definition_id), iif(count(DISTINCT s.definition_id) = 1, '', 's'),
              count(DISTINCT v.name), iif(count(DISTINCT v.name) = 1, '', 's')) AS what,
       count(DISTINCT s.id) AS searches,
       (SELECT total(searched) FROM search_figures WHERE search_id IN (SELECT id FROM report_searches)) AS evaluations,
       (SELECT total(verified) FROM search_figures WHERE search_id IN (SELECT id FROM report_searches)) AS verified,
       round(sum(julianday(coalesce(s.ended_at, s.started_at)) - julianday(s.started_at)) * 24, 2) AS hours,
       (SELECT iif(count(*) = 0, 'No language model was asked.', printf('Language models were asked %d times', count(*))
          || iif(sum(cost_usd) IS NULL, '; their prices are not known.', printf(' for US$ %.2f%s.', sum(cost_usd),
               iif(max(cost_usd IS NULL AND input_tokens + output_tokens > 0), ' and tokens of unknown price', ''))))
        FROM llm_calls WHERE search_id IN (SELECT id FROM report_searches)) AS models
FROM searches s JOIN report_searches r ON r.id = s.id JOIN devices v ON v.id = s.device_id
HAVING count(*) > 0;

-- @gains The best of each problem, beside its fastest baseline and the best from before
WITH best AS (
  SELECT definition_id, device, reported, search, min(score_ns) AS score_ns FROM report_champions
  WHERE device_kind = 'cuda' AND (reported OR started_at < (SELECT min(started_at) FROM searches WHERE id IN (SELECT id FROM report_searches)))
  GROUP BY definition_id, device, reported),
-- Of the search with the best, so that both were measured in the same hours.
baseline AS (
  SELECT search, label, min(score_ns) AS score_ns FROM (
    SELECT n.search, m.label, exp(sum(w.weight * ln(m.median_ns)) / sum(w.weight)) AS score_ns
    FROM best n JOIN evaluations e ON e.search_id = n.search JOIN measurements m ON m.evaluation_id = e.id
    JOIN workloads w ON w.id = m.workload_id AND w.timed = 1
    WHERE n.reported AND m.role = 'baseline' AND m.cold = 1 AND m.method <> 'emulator'
    GROUP BY e.id, m.label)
  GROUP BY search)
SELECT d.name AS definition, n.device, n.score_ns / 1000 AS best_us,
       b.label AS baseline, b.score_ns / 1000 AS baseline_us, round(b.score_ns / n.score_ns, 2) AS speedup,
       iif(o.score_ns IS NULL, ' It is the first result.', printf(' The best from before: %.4g µs, %s.', o.score_ns / 1000,
         CASE WHEN n.score_ns < 0.995 * o.score_ns THEN printf('%.1f %% gained', 100 * (1 - n.score_ns / o.score_ns)) ELSE 'not beaten' END)) AS before
FROM best n JOIN definitions d ON d.id = n.definition_id
LEFT JOIN best o ON o.definition_id = n.definition_id AND o.device = n.device AND NOT o.reported
LEFT JOIN baseline b ON b.search = n.search
WHERE n.reported
ORDER BY speedup DESC, definition, n.device;

-- @attention What needs someone's attention
SELECT what, count FROM (
  SELECT 1 AS rank, 'searches that failed or were interrupted' AS what, count(*) AS count
  FROM searches WHERE status IN ('failed', 'interrupted') AND id IN (SELECT id FROM report_searches)
  UNION ALL
  SELECT 2, 'candidates that tried to deceive the checks or beat the physical limit', count(*)
  FROM evaluations WHERE status IN ('integrity_violation', 'below_floor') AND search_id IN (SELECT id FROM report_searches)
  UNION ALL
  SELECT 3, 'leaders found wrong in a later check', count(DISTINCT e.variant_id)
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm IN ('held_out', 'examination', 'comparison', 'final') AND e.search_id IN (SELECT id FROM report_searches)
    AND e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race', 'below_floor')
  UNION ALL
  SELECT 4, 'searches on problems that were not audited', count(*)
  FROM searches WHERE audited = 0 AND id IN (SELECT id FROM report_searches)
  UNION ALL
  SELECT 5, 'questions to language models without an answer', count(*)
  FROM llm_calls WHERE status <> 'ok' AND search_id IN (SELECT id FROM report_searches))
WHERE count > 0 ORDER BY rank;
