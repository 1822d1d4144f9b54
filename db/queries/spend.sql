-- What language models cost, and dollars for each percent by which they made the best kernel faster.
-- limit: most rows (integer, 20)
WITH latest AS MATERIALIZED (SELECT * FROM spend ORDER BY search DESC LIMIT :limit),
gains AS (
  SELECT e.search_id AS search,
         min(e.score_ns) FILTER (WHERE p.llm_call_id IS NULL AND p.arm = 'start') AS start_ns, min(e.score_ns) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE e.search_id IN (SELECT search FROM latest) AND e.status = 'ok'
    AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile', 'ablation')
  GROUP BY e.search_id)
SELECT s.search, s.model, s.calls, s.input_tokens, s.output_tokens, round(s.cost_usd, 4) AS cost_usd,
       round(100 * (g.start_ns / g.best_ns - 1), 1) AS percent_gained,
       round(s.cost_usd / nullif(100 * (g.start_ns / g.best_ns - 1), 0), 5) AS usd_per_percent
FROM latest s LEFT JOIN gains g ON g.search = s.search
ORDER BY s.search DESC
