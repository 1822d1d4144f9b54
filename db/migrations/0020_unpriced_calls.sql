-- Schema version 20. Sums of money say that a part of them has no price: a call that used tokens and has no price makes
-- `cost_usd` unknown, `priced_usd` is what the other calls cost, and `unpriced_calls` counts it.

DROP VIEW spend;
DROP VIEW llm_arms;

-- Tokens and money of each search and model.
CREATE VIEW spend AS
SELECT search_id AS search, model, count(*) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
       iif(max(unpriced), NULL, sum(cost_usd)) AS cost_usd, sum(cost_usd) AS priced_usd, sum(unpriced) AS unpriced_calls
FROM (SELECT *, cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0 AS unpriced FROM llm_calls)
GROUP BY search_id, model;

-- The arms among which it is chosen whom to ask for what, and what each brought.
CREATE VIEW llm_arms AS
SELECT search_id AS search, model, credited_arm AS arm, count(reward) AS exchanges, count(*) AS calls,
       avg(reward) AS mean_reward, sum(reward >= 0.5) AS took_the_lead, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens,
       iif(max(unpriced), NULL, sum(cost_usd)) AS cost_usd, sum(cost_usd) AS priced_usd, sum(unpriced) AS unpriced_calls
FROM (SELECT *, cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0 AS unpriced FROM llm_calls)
WHERE credited_arm IS NOT NULL
GROUP BY search_id, model, credited_arm;
