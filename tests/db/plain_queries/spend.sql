-- What language models cost, and dollars for each percent by which they made the best kernel faster.
-- limit: most rows (integer, 20)
WITH gains AS (
  SELECT e.search_id AS search, min(e.score_ns) AS start_ns, max(h.score_ns) AS best_ns
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id LEFT JOIN champions h ON h.search = e.search_id
  WHERE e.status = 'ok' AND p.llm_call_id IS NULL AND p.arm = 'start'
  GROUP BY e.search_id)
SELECT s.search, s.model, s.calls, s.input_tokens, s.output_tokens, round(s.cost_usd, 4) AS cost_usd,
       round(s.priced_usd, 4) AS priced_usd, s.unpriced_calls,
       round(100 * (g.start_ns / g.best_ns - 1), 1) AS percent_gained,
       round(s.cost_usd / nullif(100 * (g.start_ns / g.best_ns - 1), 0), 5) AS usd_per_percent
FROM spend s JOIN searches t ON t.id = s.search LEFT JOIN gains g ON g.search = s.search
ORDER BY t.started_at DESC, s.search DESC LIMIT :limit
