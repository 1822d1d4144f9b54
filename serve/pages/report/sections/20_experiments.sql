-- Experiments conducted
--
-- @measures How the searches went
WITH progress AS (SELECT r.*, s.definition_id, s.device_id, s.arch, s.workloads_hash, s.started_at FROM report_progress r JOIN searches s ON s.id = r.search),
ninety AS (SELECT to_90 AS value, row_number() OVER (ORDER BY to_90) AS place, count(*) OVER () AS many FROM progress WHERE to_90 IS NOT NULL),
gain AS (SELECT first_ns / best_ns AS value, row_number() OVER (ORDER BY first_ns / best_ns) AS place, count(*) OVER () AS many FROM progress),
-- The best of the searches before each, on the same definition, device, target and shapes.
earlier AS (
  SELECT p.search, p.best_ns, (SELECT min(f.best_ns) FROM searches t JOIN search_figures f ON f.search_id = t.id
          WHERE t.definition_id = p.definition_id AND t.device_id = p.device_id AND t.arch = p.arch AND t.workloads_hash IS p.workloads_hash AND t.started_at < p.started_at) AS before_ns
  FROM progress p),
unseen AS (SELECT count(*) AS kernels, sum(share = 1) AS passed, sum(shapes) AS shapes, sum(passed) AS shapes_passed FROM generalisation WHERE search IN (SELECT id FROM report_searches))
SELECT measure, value, note FROM (
  SELECT 1 AS rank, 'evaluations to 90 % of the final speed' AS measure, printf('%g', avg(value)) AS value,
         printf('median of %d searches; %d at best, %d at worst', max(many), (SELECT min(value) FROM ninety), (SELECT max(value) FROM ninety)) AS note
  FROM ninety WHERE place IN ((many + 1) / 2, (many + 2) / 2) HAVING count(*) > 0
  UNION ALL
  SELECT 2, 'final speed over the first verified candidate', quantity(avg(value), 'ratio'), printf('median of %d searches', max(many))
  FROM gain WHERE place IN ((many + 1) / 2, (many + 2) / 2) HAVING count(*) > 0
  UNION ALL
  SELECT 3, 'monotonic improvement', printf('%d of %d', sum(best_ns <= 1.02 * before_ns), count(*)), 'searches that reached the best of those before them, within 2 %'
  FROM earlier WHERE before_ns IS NOT NULL HAVING count(*) > 0
  UNION ALL
  SELECT 4, 'success on unseen shapes', printf('%d of %d', passed, kernels), printf('kernels passed all shapes drawn after their search; %d of %d shapes in all', shapes_passed, shapes)
  FROM unseen WHERE kernels > 0)
ORDER BY rank;

-- @searches The searches, by problem
WITH listed AS (
  SELECT x.*, d.problem AS algorithm, (SELECT t.days FROM report_times t WHERE t.search = x.search) AS days
  FROM experiments x JOIN definitions d ON d.name = x.definition WHERE x.search IN (SELECT id FROM report_searches)),
grouped AS (
  SELECT definition, device, arch, proposer = 'user' AS own, count(*) AS many, min(coalesce(best_us, best_emulated_cost_us)) AS best, sum(evaluations) AS evaluations,
         max(best_us IS NULL) AS estimated, max(started_at) AS latest
  FROM listed GROUP BY 1, 2, 3, 4)
SELECT l.search, l.definition, l.device, l.status, l.best_us, l.best_emulated_cost_us AS emulated_cost_us, l.evaluations, l.verified,
       l.proposer || ', ' || l.strategy AS method, round(l.days * 1440, 1) AS took_minutes,
       (SELECT iif(sum(x.unpriced_calls) > 0, NULL, sum(x.cost_usd)) FROM spend x WHERE x.search = l.search) AS cost_usd,
       l.started_at, l.reason, (SELECT s.verdict FROM searches s WHERE s.id = l.search) AS verdict,
       l.definition || ' on ' || l.device || ', ' || l.arch || ': ' || iif(g.own, 'checked by hand', printf('%d candidates', g.evaluations)) ||
         iif(g.best IS NULL, ', nothing verified', printf(', best %s%s', quantity(g.best, 'us'), iif(g.estimated, ' (estimated)', ''))) AS problem
FROM listed l JOIN grouped g ON g.definition = l.definition AND g.device = l.device AND g.arch = l.arch AND g.own = (l.proposer = 'user')
ORDER BY g.own, g.latest DESC, l.started_at DESC, l.search DESC LIMIT 200;

-- @progress Best score so far, by the time since the search began; the latest twelve searches
WITH latest AS (SELECT id FROM searches WHERE id IN (SELECT id FROM report_searches) AND proposer <> 'user' ORDER BY started_at DESC, id DESC LIMIT 12),
run AS (
  SELECT e.search_id, e.id, e.ended_at, min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (PARTITION BY e.search_id ORDER BY e.id) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE e.search_id IN (SELECT id FROM latest) AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')),
step AS (SELECT *, lag(best_ns) OVER (PARTITION BY search_id ORDER BY id) AS before, lead(id) OVER (PARTITION BY search_id ORDER BY id) AS next FROM run),
point AS (
  SELECT t.*, max(0, (julianday(t.ended_at) - julianday(s.started_at)) * 86400) AS seconds
  FROM step t JOIN searches s ON s.id = t.search_id
  WHERE t.best_ns IS NOT NULL AND (t.before IS NULL OR t.best_ns < t.before OR t.next IS NULL)),
-- One unit for all of them, in which the longest has a number of one to three digits.
unit AS (
  SELECT iif(longest < 300, 1, iif(longest < 18000, 60, 3600)) AS seconds, iif(longest < 300, 's', iif(longest < 18000, 'min', 'h')) AS symbol
  FROM (SELECT max(seconds) AS longest FROM point))
SELECT d.name || ' on ' || v.name || iif(v.kind = 'emulator', ' (estimated cost, no time)', '') AS problem, 'search ' || s.id AS search_name,
       t.seconds / u.seconds AS since, 'since the beginning (' || u.symbol || ')' AS since_name, t.best_ns / 1000 AS best_us
FROM point t JOIN unit u JOIN searches s ON s.id = t.search_id JOIN definitions d ON d.id = s.definition_id JOIN devices v ON v.id = s.device_id
ORDER BY problem, s.id, t.id;
