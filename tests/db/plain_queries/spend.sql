-- What language models cost, and dollars for each percent by which they made the best kernel faster.
-- limit: most rows (integer, 20)
WITH gains AS (
  SELECT e.session_id AS session,
         min(e.score_ns) FILTER (WHERE p.llm_call_id IS NULL AND p.arm = 'start') AS start_ns, min(e.score_ns) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE e.status = 'ok' AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile', 'ablation')
  GROUP BY e.session_id)
SELECT s.session, s.model, s.calls, s.input_tokens, s.output_tokens, round(s.cost_usd, 4) AS cost_usd,
       round(100 * (g.start_ns / g.best_ns - 1), 1) AS percent_gained,
       round(s.cost_usd / nullif(100 * (g.start_ns / g.best_ns - 1), 0), 5) AS usd_per_percent
FROM spend s LEFT JOIN gains g ON g.session = s.session
ORDER BY s.session DESC LIMIT :limit
