-- How well the expectations of models hold: what they said their changes would bring, next to what was measured.
-- search: of this search alone (integer)
SELECT model, device_kind, count(*) AS hypotheses, sum(verdict = 'failed') AS failed, sum(verdict = 'held') AS held,
       sum(verdict = 'partly') AS partly, sum(verdict = 'refuted') AS refuted,
       round(exp(avg(ln(expected_speedup)) FILTER (WHERE measured_speedup IS NOT NULL)), 3) AS mean_expected,
       round(exp(avg(ln(measured_speedup))), 3) AS mean_measured,
       round(exp(avg(ln(measured_speedup / expected_speedup))), 3) AS measured_over_expected
FROM hypothesis_results WHERE ifnull(:search, search) = search
GROUP BY model, device_kind ORDER BY hypotheses DESC, model
