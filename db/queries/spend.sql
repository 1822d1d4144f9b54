-- What language models cost, and dollars for each percent by which they made the best kernel faster.
-- limit: most rows (integer, 20)
WITH latest AS MATERIALIZED (
  SELECT x.*, s.started_at FROM spend x JOIN searches s ON s.id = x.search
  ORDER BY s.started_at DESC, x.search DESC LIMIT :limit),
gains AS (
  SELECT e.search_id AS search, min(e.score_ns) AS start_ns,
         (SELECT h.score_ns FROM champions h WHERE h.search = e.search_id) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
  WHERE e.search_id IN (SELECT search FROM latest) AND e.status = 'ok' AND p.llm_call_id IS NULL AND p.arm = 'start'
  GROUP BY e.search_id)
SELECT s.search, s.model, s.calls, s.input_tokens, s.output_tokens, round(s.cost_usd, 4) AS cost_usd,
       round(s.priced_usd, 4) AS priced_usd, s.unpriced_calls,
       round(100 * (g.start_ns / g.best_ns - 1), 1) AS percent_gained,
       round(s.cost_usd / nullif(100 * (g.start_ns / g.best_ns - 1), 0), 5) AS usd_per_percent
FROM latest s LEFT JOIN gains g ON g.search = s.search
ORDER BY s.started_at DESC, s.search DESC
