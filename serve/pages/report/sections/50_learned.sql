-- What was learned
--
-- @insights Effects that are larger than the noise and hold in the comparisons of pairs
--
-- Noise: 2 % in time, and a share of pairs that two standard deviations keep away from a coin's. A source that was the
-- fastest of one problem says no more than the table of results.
SELECT i.text AS finding, quantity(1 / i.ratio, 'ratio') AS as_fast, i.wins || ' of ' || i.tries AS pairs, i.algorithm, i.device, i.kind,
       (SELECT group_concat(pair, ', ') FROM (SELECT (value ->> 0) || ' and ' || (value ->> 1) AS pair FROM json_each(i.evidence, '$.variants') LIMIT 4)) AS evidence_variants
FROM insights i
WHERE i.kind IN ('tunable', 'template', 'pattern') AND i.ratio > 0 AND abs(ln(max(i.ratio, 1e-9))) > 0.02
  AND i.tries >= iif(i.kind = 'template', 2, 4) AND (i.wins - i.tries / 2.0) * (i.wins - i.tries / 2.0) >= iif(i.kind = 'template', 0, i.tries)
  AND i.algorithm IN (SELECT d.problem FROM searches s JOIN definitions d ON d.id = s.definition_id WHERE s.id IN (SELECT id FROM report_searches))
ORDER BY i.device_kind, abs(ln(max(i.ratio, 1e-9))) DESC LIMIT 20;

-- @attempts What language models tried that changed the time by more than the noise
SELECT i.text AS attempt, quantity(1 / i.ratio, 'ratio') AS as_fast, i.algorithm, replace(i.bottleneck, '_', ' ') AS bottleneck, i.device
FROM insights i
WHERE i.kind = 'attempt' AND i.ratio > 0 AND abs(ln(max(i.ratio, 1e-9))) > 0.02
  AND i.algorithm IN (SELECT d.problem FROM searches s JOIN definitions d ON d.id = s.definition_id WHERE s.id IN (SELECT id FROM report_searches))
ORDER BY i.ratio LIMIT 12;

-- @expectations What models expected of their changes, and what came of it
SELECT model, device_kind AS device, hypotheses, held, partly, refuted, failed,
       quantity(mean_expected, 'ratio') AS expected, quantity(mean_measured, 'ratio') AS measured
FROM (SELECT model, device_kind, count(*) AS hypotheses, sum(verdict = 'held') AS held, sum(verdict = 'partly') AS partly,
             sum(verdict = 'refuted') AS refuted, sum(verdict = 'failed') AS failed,
             exp(avg(ln(expected_speedup)) FILTER (WHERE measured_speedup IS NOT NULL)) AS mean_expected,
             exp(avg(ln(measured_speedup))) AS mean_measured
      FROM hypothesis_results WHERE search IN (SELECT id FROM report_searches) GROUP BY model, device_kind)
ORDER BY hypotheses DESC, model LIMIT 20;

-- @hypotheses The stated gains that were farthest from what was measured
SELECT change, reason AS why, quantity(expected_speedup, 'ratio') AS expected, quantity(measured_speedup, 'ratio') AS measured, verdict,
       parent, variant, model
FROM hypothesis_results
WHERE search IN (SELECT id FROM report_searches) AND measured_speedup IS NOT NULL
ORDER BY abs(ln(measured_speedup / expected_speedup)) DESC, hypothesis LIMIT 12;

-- @heat Best time over two tunables of the source that was searched most
WITH points AS (
  SELECT v.source_id, v.name, v.tunables, e.score_ns FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN devices d ON d.id = e.device_id AND d.kind = 'cuda'
  WHERE e.search_id IN (SELECT id FROM report_searches) AND e.status = 'ok' AND e.score_ns IS NOT NULL AND v.tunables <> '{}'),
source AS (SELECT source_id FROM points GROUP BY source_id ORDER BY count(DISTINCT tunables) DESC, source_id LIMIT 1),
chosen AS (SELECT p.* FROM points p JOIN source USING (source_id)),
-- The tunables over which the best times differ most.
effect AS (
  SELECT key, max(best) / min(best) AS spread, count(*) AS many
  FROM (SELECT t.key, t.value, min(c.score_ns) AS best FROM chosen c, json_each(c.tunables) t GROUP BY 1, 2)
  GROUP BY key HAVING count(*) BETWEEN 2 AND 24 ORDER BY spread DESC, many DESC LIMIT 2),
axes AS (SELECT (SELECT key FROM effect ORDER BY many DESC, key LIMIT 1) AS across, (SELECT key FROM effect ORDER BY many DESC, key LIMIT 1 OFFSET 1) AS down)
SELECT max(c.name) AS space, a.across AS across_tunable, a.down AS down_tunable, CAST(c.tunables ->> a.across AS TEXT) AS across, CAST(c.tunables ->> a.down AS TEXT) AS down,
       min(c.score_ns) / 1000 AS best_us, count(*) AS points
FROM chosen c, axes a WHERE a.down IS NOT NULL
GROUP BY a.across, a.down, 4, 5;

-- @ancestors The line of a champion: what it was made from, step by step
WITH RECURSIVE champions AS (
  SELECT s.id AS search, s.best_variant_id AS variant FROM searches s WHERE s.id IN (SELECT id FROM report_searches) AND s.best_variant_id IS NOT NULL AND s.proposer <> 'user'),
line(search, variant, depth) AS (
  SELECT search, variant, 0 FROM champions
  UNION
  SELECT l.search, p.parent_id, l.depth + 1 FROM line l JOIN variant_parents p ON p.variant_id = l.variant WHERE l.depth < 30),
deepest AS (SELECT search FROM line GROUP BY search ORDER BY max(depth) DESC, search DESC LIMIT 1),
members AS (SELECT DISTINCT l.variant, l.search FROM line l JOIN deepest USING (search))
SELECT m.variant AS id, (SELECT min(p.parent_id) FROM variant_parents p WHERE p.variant_id = m.variant) AS parent,
       'variant ' || m.variant || ', ' || v.name || ', ' || (SELECT q.arm FROM evaluations e JOIN proposals q ON q.id = e.proposal_id WHERE e.variant_id = m.variant ORDER BY q.id LIMIT 1)
       || coalesce(', ' || round((SELECT min(e.score_ns) FROM evaluations e WHERE e.variant_id = m.variant AND +e.search_id = m.search AND e.status = 'ok' AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)) / 1000, 2)
         || iif((SELECT d.kind FROM searches s JOIN devices d ON d.id = s.device_id WHERE s.id = m.search) = 'emulator', ' µs estimated', ' µs'), '') AS step
FROM members m JOIN variants v ON v.id = m.variant
WHERE (SELECT count(*) FROM members) > 1 -- a line of one step says nothing
ORDER BY m.variant;

-- @diffs What each step changed in the source
WITH RECURSIVE champions AS (
  SELECT s.id AS search, s.best_variant_id AS variant FROM searches s WHERE s.id IN (SELECT id FROM report_searches) AND s.best_variant_id IS NOT NULL AND s.proposer <> 'user'),
line(search, variant, depth) AS (
  SELECT search, variant, 0 FROM champions
  UNION
  SELECT l.search, p.parent_id, l.depth + 1 FROM line l JOIN variant_parents p ON p.variant_id = l.variant WHERE l.depth < 30),
deepest AS (SELECT search FROM line GROUP BY search ORDER BY max(depth) DESC, search DESC LIMIT 1),
members AS (SELECT DISTINCT l.variant FROM line l JOIN deepest USING (search))
SELECT 'variant ' || p.parent_id || ' to variant ' || p.variant_id || ' (' || c.name || ')' AS title,
       unified_diff((SELECT text FROM sources WHERE id = b.source_id), (SELECT text FROM sources WHERE id = c.source_id)) AS text
FROM variant_parents p JOIN members m ON m.variant = p.variant_id JOIN variants b ON b.id = p.parent_id JOIN variants c ON c.id = p.variant_id
WHERE b.source_id <> c.source_id
ORDER BY p.variant_id, p.parent_id LIMIT 12;
