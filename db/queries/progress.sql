-- Every step of a search by which its best score fell.
-- search: its number; the latest where not given (integer)
SELECT iteration, variant, status, round(iif(kind <> 'emulator', score_us, NULL), 3) AS score_us,
       round(iif(kind = 'emulator', score_us, NULL), 3) AS emulated_cost_us, ended_at
FROM (SELECT *, lag(best_us) OVER (ORDER BY iteration) AS before
      FROM (SELECT p.iteration, e.variant_id AS variant, e.status, d.kind, e.score_ns / 1000.0 AS score_us, e.ended_at,
                   min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (ORDER BY e.id) / 1000.0 AS best_us
            FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices d ON d.id = e.device_id
            WHERE e.search_id = ifnull(:search, (SELECT id FROM searches ORDER BY started_at DESC, id DESC LIMIT 1))
              AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'final', 'profile')))
WHERE best_us < ifnull(before, 1e300)
ORDER BY iteration
