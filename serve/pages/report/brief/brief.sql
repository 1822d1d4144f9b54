-- In short
--
-- @totals What ran
SELECT printf('%d search%s on %d problem%s', count(DISTINCT s.id), iif(count(DISTINCT s.id) = 1, '', 'es'),
              count(DISTINCT s.definition_id), iif(count(DISTINCT s.definition_id) = 1, '', 's')) AS what,
       quantity((SELECT total(days) FROM report_times) * 24, 'hours') AS duration,
       (SELECT iif(count(*) = 0, 'no model asked', quantity(sum(calls), 'count') || ' questions to models, ' ||
               iif(sum(priced_usd) IS NULL, 'price not known',
                   quantity(sum(priced_usd), 'usd') || iif(sum(unpriced_calls) > 0, ' and some of unknown price', '')))
        FROM spend WHERE search IN (SELECT id FROM report_searches)) AS models
FROM searches s WHERE s.id IN (SELECT id FROM report_searches) HAVING count(*) > 0;

-- @improved How many kernels are faster than their strongest baseline
SELECT sum(verdict = 'faster' AND NOT regression) || ' of ' || count(*) AS share, iif(max(device_kind <> 'cuda'), ' (with estimated costs of the CPU device)', '') AS estimated
FROM report_kernels WHERE verdict IS NOT NULL HAVING count(*) > 0;

-- @kernels The kernels by speed-up; what is slower comes first
SELECT kernel, quantity(speedup, 'ratio') AS speedup, iif(low IS NULL, '', printf(' (%.2f to %.2f)', low, high)) AS interval, baseline,
       CASE WHEN verdict = 'slower' THEN ', SLOWER' WHEN regression THEN ', REGRESSION: worse than search ' || before_search ELSE '' END AS warning
FROM report_kernels WHERE speedup IS NOT NULL ORDER BY verdict = 'slower' OR regression DESC, speedup DESC LIMIT 8;

-- @more Kernels that are not listed
SELECT count(*) - 8 AS count FROM report_kernels WHERE speedup IS NOT NULL HAVING count(*) > 8;

-- @trouble What did not end well
SELECT what FROM (
  SELECT 1 AS rank, printf('%d search%s did not end well: %s', count(*), iif(count(*) = 1, '', 'es'), max(substr(reason, 1, 120))) AS what
  FROM searches WHERE status IN ('failed', 'interrupted', 'stopped') AND id IN (SELECT id FROM report_searches) HAVING count(*) > 0
  UNION ALL
  SELECT 2, printf('%d leader%s found wrong in a later check', count(DISTINCT e.variant_id), iif(count(DISTINCT e.variant_id) = 1, ' was', 's were'))
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE p.arm IN ('held_out', 'examination', 'comparison', 'final') AND e.search_id IN (SELECT id FROM report_searches)
    AND e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race', 'below_floor') HAVING count(*) > 0
  UNION ALL
  SELECT 3, printf('%d questions to models had no answer', count(*)) FROM llm_calls WHERE status <> 'ok' AND search_id IN (SELECT id FROM report_searches) HAVING count(*) > 0)
ORDER BY rank;
