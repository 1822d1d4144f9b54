-- Search strategies compared: evaluations to come within 5 % of the best known.
SELECT definition, device, strategy, count(*) AS searches, round(avg(evaluations), 1) AS evaluations,
       round(avg(evaluations_to_5_percent), 1) AS evaluations_to_5_percent,
       sum(evaluations_to_5_percent IS NOT NULL) AS came_within_5_percent, round(avg(best_over_known), 4) AS best_over_known,
       round(avg(ask_us), 1) AS ask_us
FROM strategies WHERE resumed IS NOT 1
GROUP BY definition, device, strategy ORDER BY definition, device, best_over_known
