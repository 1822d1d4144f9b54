-- Spend
--
-- @models Language models: what they cost and the result
WITH gained AS (
  SELECT p.llm_call_id AS id, count(DISTINCT p.variant_id) AS candidates, count(DISTINCT CASE WHEN e.status = 'ok' THEN p.variant_id END) AS verified
  FROM proposals p LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
  WHERE p.search_id IN (SELECT id FROM report_searches) AND p.llm_call_id IS NOT NULL GROUP BY p.llm_call_id)
SELECT c.model, count(*) AS calls, sum(c.input_tokens) AS input_tokens, sum(c.output_tokens) AS output_tokens,
       iif(max(c.cost_usd IS NULL AND c.input_tokens + c.output_tokens > 0), NULL, sum(c.cost_usd)) AS cost_usd,
       sum(g.candidates) AS candidates, sum(g.verified) AS verified, sum(c.reward >= 0.5) AS took_the_lead,
       iif(max(c.cost_usd IS NULL AND c.input_tokens + c.output_tokens > 0), NULL, sum(c.cost_usd)) / nullif(sum(g.verified), 0) AS per_verified_usd
FROM llm_calls c LEFT JOIN gained g ON g.id = c.id WHERE c.search_id IN (SELECT id FROM report_searches)
GROUP BY c.model ORDER BY cost_usd DESC, calls DESC;

-- @searches What the searches with a model cost
SELECT s.id AS search, d.name AS definition, iif(max(c.cost_usd IS NULL AND c.input_tokens + c.output_tokens > 0), NULL, sum(c.cost_usd)) AS cost_usd, sum(c.input_tokens) + sum(c.output_tokens) AS used_tokens,
       round((SELECT t.days FROM report_times t WHERE t.search = s.id) * 1440, 1) AS took_minutes
FROM searches s JOIN llm_calls c ON c.search_id = s.id JOIN definitions d ON d.id = s.definition_id
WHERE s.id IN (SELECT id FROM report_searches) GROUP BY s.id ORDER BY cost_usd DESC, s.id DESC LIMIT 50;

-- @devices Hours that devices were busy
SELECT v.name AS device, count(*) AS evaluations, sum(e.gpu_busy_ms) / 3.6e6 AS busy_hours
FROM evaluations e JOIN devices v ON v.id = e.device_id WHERE e.search_id IN (SELECT id FROM report_searches)
GROUP BY v.name ORDER BY busy_hours DESC;
