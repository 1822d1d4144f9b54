-- The latest requests to language models and how they ended.
-- limit: most rows (integer, 20)
SELECT id, search_id AS search, model, arm, status, stop, input_tokens, cached_tokens, output_tokens,
       round(cost_usd, 4) AS cost_usd, round(latency_ms / 1000.0, 1) AS latency_s, attempts, substr(message, 1, 80) AS message
FROM llm_calls ORDER BY started_at DESC, id DESC LIMIT :limit
