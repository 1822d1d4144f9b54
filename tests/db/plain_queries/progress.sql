-- Every step of a search by which its best score fell.
-- session: its number; the latest where not given (integer)
SELECT iteration, variant, status, round(score_us, 3) AS score_us, round(emulated_cost_us, 3) AS emulated_cost_us, ended_at
FROM (SELECT *, lag(coalesce(best_so_far_us, best_emulated_cost_us)) OVER (ORDER BY iteration) AS before
      FROM progress WHERE session = ifnull(:session, (SELECT max(id) FROM sessions)))
WHERE coalesce(best_so_far_us, best_emulated_cost_us) < ifnull(before, 1e300)
ORDER BY iteration
