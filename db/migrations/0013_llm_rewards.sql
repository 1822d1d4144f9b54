-- Schema version 13. What every exchange with a language model was worth, and to which arm that was credited.

ALTER TABLE llm_calls ADD COLUMN credited_arm TEXT;
ALTER TABLE llm_calls ADD COLUMN reward REAL CHECK (reward BETWEEN 0 AND 1);

-- The bandit's arms: a row a session, model and arm. An exchange is a question with its repeats and repairs.
CREATE VIEW llm_arms AS
SELECT session_id AS session, model, credited_arm AS arm, count(reward) AS exchanges, count(*) AS calls,
       avg(reward) AS mean_reward, sum(reward >= 0.5) AS took_the_lead, sum(input_tokens) AS input_tokens,
       sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM llm_calls WHERE credited_arm IS NOT NULL
GROUP BY session_id, model, credited_arm;
