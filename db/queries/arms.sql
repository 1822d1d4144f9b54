-- The arms of the bandit: which model and prompt was worth what.
-- search: of this search alone (integer)
SELECT model, arm, sum(exchanges) AS exchanges, sum(calls) AS calls,
       round(sum(mean_reward * exchanges) / nullif(sum(exchanges), 0), 3) AS mean_reward, sum(took_the_lead) AS took_the_lead,
       sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
       round(iif(sum(unpriced_calls) > 0, NULL, sum(cost_usd)), 4) AS cost_usd, round(sum(priced_usd), 4) AS priced_usd,
       sum(unpriced_calls) AS unpriced_calls
FROM llm_arms WHERE ifnull(:search, search) = search
GROUP BY model, arm ORDER BY mean_reward DESC
