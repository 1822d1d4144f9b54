-- Insights
-- algorithm: Algorithm (text)
-- kind: Kind (text)
-- q: Text in the insight (text)
--
-- @algorithm Algorithms
SELECT DISTINCT algorithm FROM insights ORDER BY algorithm LIMIT 200;
-- @kind Kinds
SELECT DISTINCT kind FROM insights ORDER BY kind LIMIT 20;
-- @kinds What was learned, by kind
SELECT kind, count(*) AS insights, sum(tries) AS tries, sum(wins) AS wins FROM insights
GROUP BY kind ORDER BY insights DESC LIMIT 10;
-- @insights Those that rest on most comparisons first
SELECT i.algorithm, i.kind, i.text, i.tries, i.wins, i.ratio, i.arch, i.device, i.device_kind, i.bottleneck,
       i.search_id AS search, i.created_at
FROM insights i
WHERE ifnull(:algorithm, i.algorithm) = i.algorithm AND ifnull(:kind, i.kind) = i.kind
  AND (:q IS NULL OR instr(lower(i.text), lower(:q)) > 0)
ORDER BY i.tries DESC, i.id LIMIT 100;
-- @models What models expected of their changes, and what came of it
SELECT model, device_kind, hypotheses, held, partly, refuted, failed, quantity(mean_expected, 'ratio') AS expected,
       quantity(mean_measured, 'ratio') AS measured, quantity(measured_over_expected, 'ratio') AS measured_over_expected,
       quantity(typical_factor, 'ratio') AS typical_factor
FROM model_expectations ORDER BY hypotheses DESC, model, device_kind LIMIT 40;
-- @hypotheses The latest hypotheses
SELECT h.definition, h.change, h.reason AS why, quantity(h.expected_speedup, 'ratio') AS expected,
       quantity(h.measured_speedup, 'ratio') AS measured, h.verdict, h.variant, h.parent, h.model, h.search, h.device_kind
FROM hypothesis_results h
WHERE (:algorithm IS NULL OR h.definition IN (SELECT name FROM definitions WHERE problem = :algorithm))
  AND (:q IS NULL OR instr(lower(h.change || ' ' || h.reason), lower(:q)) > 0)
ORDER BY h.hypothesis DESC LIMIT 50;
-- @expected Speedups that models expected and that were measured
SELECT expected_speedup, measured_speedup, model FROM hypothesis_results
WHERE measured_speedup IS NOT NULL AND device_kind <> 'emulator' ORDER BY hypothesis DESC LIMIT 1000;
-- @expected_costs Expected speedups, and the ratio of estimated costs on the CPU emulator
SELECT expected_speedup, measured_speedup AS cost_ratio, model FROM hypothesis_results
WHERE measured_speedup IS NOT NULL AND device_kind = 'emulator' ORDER BY hypothesis DESC LIMIT 1000;
