-- Summary
--
-- @totals What ran
SELECT printf('%d search%s on %d problem%s and %d device%s', count(DISTINCT s.id), iif(count(DISTINCT s.id) = 1, '', 'es'),
              count(DISTINCT s.definition_id), iif(count(DISTINCT s.definition_id) = 1, '', 's'),
              count(DISTINCT v.name), iif(count(DISTINCT v.name) = 1, '', 's')) AS what,
       count(DISTINCT s.id) AS searches,
       (SELECT total(searched) FROM search_figures WHERE search_id IN (SELECT id FROM report_searches)) AS evaluations,
       (SELECT total(verified) FROM search_figures WHERE search_id IN (SELECT id FROM report_searches)) AS verified,
       quantity((SELECT total(days) FROM report_times) * 24, 'hours') AS duration
FROM searches s JOIN report_searches r ON r.id = s.id JOIN devices v ON v.id = s.device_id
HAVING count(*) > 0;

-- @tiles At a glance
WITH shown AS (  -- costs of the CPU device only where there is no time of a GPU
  SELECT * FROM report_kernels WHERE device_kind = 'cuda' OR NOT EXISTS (SELECT 1 FROM report_kernels WHERE device_kind = 'cuda')),
compared AS (SELECT * FROM shown WHERE verdict IS NOT NULL),
best AS (SELECT * FROM compared WHERE speedup > 1 ORDER BY speedup DESC LIMIT 1),
behind AS (SELECT kernel FROM shown WHERE verdict = 'slower' OR regression),
calls AS (SELECT count(*) AS count, sum(cost_usd) AS usd, max(cost_usd IS NULL AND input_tokens + output_tokens > 0) AS unknown
          FROM llm_calls WHERE search_id IN (SELECT id FROM report_searches)),
wrong AS (
  SELECT count(DISTINCT e.variant_id) AS count FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm IN ('held_out', 'examination', 'comparison', 'final') AND e.search_id IN (SELECT id FROM report_searches)
    AND e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race', 'below_floor')),
confirmed AS (
  SELECT k.variant FROM report_kernels k JOIN evaluations e ON e.variant_id = k.variant AND +e.search_id = k.search AND e.status = 'ok'
  JOIN proposals p ON p.id = e.proposal_id AND p.arm = 'final' GROUP BY k.variant)
SELECT label, value, note, tone FROM (
  SELECT 1 AS place, 'kernels improved' AS label, sum(verdict = 'faster' AND NOT regression) || ' of ' || count(*) AS value,
         'faster than the strongest baseline' || iif(max(device_kind <> 'cuda'), ', by estimated costs', '') AS note,
         CASE WHEN sum(verdict = 'faster' AND NOT regression) = count(*) THEN 'good' WHEN sum(verdict = 'faster' AND NOT regression) = 0 THEN 'bad' ELSE 'warn' END AS tone
  FROM compared HAVING count(*) > 0
  UNION ALL
  SELECT 2, 'largest speed-up', quantity(speedup, 'ratio'),
         iif(low IS NULL, '', printf('%.2f to %.2f, ', low, high)) || kernel || ' against ' || baseline || ', ' || substr(shapes, 1, 60), 'good' FROM best
  UNION ALL
  SELECT 3, 'slower, or worse than before', count(*), iif(count(*) > 0, (SELECT group_concat(kernel, ', ') FROM (SELECT kernel FROM behind LIMIT 2)) ||
         iif(count(*) > 2, ' and others', ''), 'no kernel'), iif(count(*) > 0, 'bad', 'good') FROM behind HAVING EXISTS (SELECT 1 FROM compared)
  UNION ALL
  SELECT 4, 'time of searches', quantity((SELECT total(days) FROM report_times) * 24, 'hours'),
         count(*) || iif(count(*) = 1, ' search', ' searches') || ', ' || quantity((SELECT total(searched) FROM search_figures WHERE search_id IN (SELECT id FROM report_searches)), 'count') || ' candidates', ''
  FROM searches s WHERE s.id IN (SELECT id FROM report_searches) HAVING count(*) > 0
  UNION ALL
  SELECT 5, 'cost of models', iif(count > 0 AND usd IS NULL, 'not known', quantity(ifnull(usd, 0), 'usd')),
         iif(count = 0, 'no language model was asked', quantity(count, 'count') || ' questions' || iif(unknown, ', some of unknown price', '')), ''
  FROM calls WHERE EXISTS (SELECT 1 FROM report_searches)
  UNION ALL
  SELECT 6, 'trust', iif(w.count = 0, 'held', w.count || ' found wrong'),
         (SELECT count(*) FROM confirmed) || ' of ' || (SELECT count(*) FROM report_kernels) || ' kernels measured again in a fresh process; checks stopped ' ||
         quantity((SELECT count(*) FROM evaluations WHERE gate IS NOT NULL AND search_id IN (SELECT id FROM report_searches)), 'count') || ' candidates',
         CASE WHEN w.count > 0 THEN 'bad' WHEN (SELECT count(*) FROM confirmed) < (SELECT count(*) FROM report_kernels) THEN 'warn' ELSE 'good' END FROM wrong w WHERE EXISTS (SELECT 1 FROM report_kernels))
ORDER BY place;

-- @speedups Speed-up against the strongest baseline; a line is the 95 % interval, dashes the limit of the device
SELECT kernel || ', against ' || baseline AS kernel, iif(device_kind = 'emulator', 'estimated costs on the CPU device', device) AS device,
       speedup, low, high, baseline_ns / limit_ns AS limit_speedup, score_ns / 1000 AS time_us,
       CASE WHEN verdict = 'slower' OR regression THEN 'bad' WHEN verdict = 'faster' THEN 'good' ELSE 'warn' END AS tone
FROM report_kernels WHERE speedup > 0 ORDER BY device_kind, device, speedup DESC LIMIT 60;

-- @losses What is slower than its strongest baseline, or than the best from before
SELECT kernel, what, detail FROM (
  SELECT kernel, 'is slower than ' || baseline AS what,
         printf('%s%s: %s against %s', quantity(speedup, 'ratio'), iif(low IS NULL, '', printf(' (%.2f to %.2f)', low, high)),
                quantity(score_ns, 'ns'), quantity(baseline_ns, 'ns')) AS detail, speedup AS size
  FROM report_kernels WHERE verdict = 'slower'
  UNION ALL
  SELECT kernel, 'is a regression', printf('%s; search %d had reached %s, %s as fast', quantity(score_ns, 'ns'), before_search, quantity(before_ns, 'ns'),
         quantity(score_ns / before_ns, 'ratio')), before_ns / score_ns
  FROM report_kernels WHERE regression)
ORDER BY size;

-- @kernels The kernels, each with the times of its best so far
SELECT k.kernel AS title, quantity(k.speedup, 'ratio') AS value,
       'against ' || k.baseline || iif(k.low IS NULL, '', printf(', %.2f to %.2f', k.low, k.high)) AS note,
       CASE WHEN k.verdict = 'slower' OR k.regression THEN 'bad' WHEN k.verdict = 'faster' THEN 'good' WHEN k.verdict = 'even' THEN 'warn' END AS tone,
       (SELECT json_group_array(best) FROM (
          SELECT DISTINCT min(c.score_ns) OVER (ORDER BY c.evaluation_id) / 1000 AS best FROM scores c JOIN searches s ON s.id = c.search_id
          WHERE c.definition_id = k.definition_id AND c.device_id = k.device_id AND c.arch = k.arch AND c.searched = 1 AND s.workloads_hash IS k.workloads_hash
          ORDER BY c.evaluation_id)) AS history,
       iif(k.device_kind = 'emulator', NULL, quantity(k.score_ns, 'ns')) AS time, iif(k.device_kind = 'emulator', quantity(k.score_ns, 'ns'), NULL) AS estimated_cost,
       iif(k.before_ns IS NULL, 'first result', printf('%s %s', quantity(k.before_ns, 'ns'),
           CASE WHEN k.regression THEN 'not reached' WHEN k.score_ns < 0.995 * k.before_ns THEN printf('%.1f %% gained', 100 * (1 - k.score_ns / k.before_ns)) ELSE 'not beaten' END)) AS best_before,
       (SELECT replace(i.bottleneck, '_', ' ') FROM insights i WHERE i.kind = 'bottleneck' AND i.algorithm = k.problem AND i.subject = k.definition AND i.device = k.device
        ORDER BY i.id DESC LIMIT 1) AS limited_by,
       iif(k.limit_ns > 0 AND k.device_kind = 'cuda', printf('at most %s, to %s', quantity(k.score_ns / k.limit_ns, 'ratio'), quantity(k.limit_ns, 'ns')), NULL) AS gain_left,
       (SELECT printf('evaluation %d of %d', r.to_90, r.evaluations) FROM report_progress r WHERE r.search = k.search) AS "90 % at",
       substr(k.shapes, 1, 120) AS shapes, k.template AS source, k.search, k.variant
FROM report_kernels k ORDER BY k.device_kind, k.speedup IS NULL, k.speedup DESC LIMIT 24;

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
