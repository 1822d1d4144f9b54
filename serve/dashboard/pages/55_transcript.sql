-- Transcript of search
-- transcript: number of the search (integer, required)
-- before: Calls before number (integer)
--
-- @search The search
SELECT s.id AS search, d.name AS definition, s.status FROM searches s JOIN definitions d ON d.id = s.definition_id
WHERE s.id = :transcript;
-- @tiles What the models were asked, and what it brought
WITH asked AS MATERIALIZED (
  SELECT id, status, input_tokens, output_tokens, cost_usd, reward, latency_ms FROM llm_calls WHERE search_id = :transcript
  ORDER BY id DESC LIMIT 5000)
SELECT 'calls' AS label, count(*) AS value, sum(status = 'ok') || ' answered' AS note, NULL AS tone, NULL AS history
FROM asked HAVING count(*) > 0
UNION ALL
SELECT 'tokens', quantity(total(input_tokens) + total(output_tokens), 'count'),
       quantity(total(output_tokens), 'count') || ' of them in answers', NULL,
       (SELECT json_group_array(n) FROM (SELECT input_tokens + output_tokens AS n FROM asked ORDER BY id))
FROM asked HAVING count(*) > 0
UNION ALL
SELECT 'cost', quantity(sum(cost_usd), 'usd'), iif(max(cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0),
                                          'as far as prices are known', 'by the listed prices'), NULL,
       (SELECT json_group_array(n) FROM (SELECT total(cost_usd) OVER (ORDER BY id) AS n FROM asked ORDER BY id))
FROM asked HAVING count(cost_usd) > 0
UNION ALL
SELECT 'took the lead', sum(reward >= 0.5), 'of ' || count(reward) || ' questions that were judged', iif(max(reward) >= 0.5, 'good', NULL),
       (SELECT json_group_array(reward) FROM (SELECT reward FROM asked WHERE reward IS NOT NULL ORDER BY id))
FROM asked HAVING count(reward) > 0
UNION ALL
SELECT 'a call takes', quantity(avg(latency_ms), 'ms'), 'on average', NULL,
       (SELECT json_group_array(latency_ms) FROM (SELECT latency_ms FROM asked WHERE latency_ms IS NOT NULL ORDER BY id))
FROM asked HAVING count(latency_ms) > 0;
-- @messages What models answered, the latest first
SELECT c.arm || ': ' || c.model AS title, iif(c.status = 'ok', 'ok', iif(c.status = 'sent', 'running', 'failed')) AS status, nullif(nullif(c.status, 'ok'), 'sent') AS fault,
       c.id AS call, c.started_at, c.latency_ms / 1000.0 AS took_seconds,
       nullif(c.input_tokens, 0) AS input_tokens, nullif(c.output_tokens, 0) AS output_tokens, c.cost_usd,
       (SELECT iif(max(d.cost_usd IS NULL AND coalesce(d.input_tokens, 0) + coalesce(d.output_tokens, 0) > 0), NULL, sum(d.cost_usd))
        FROM llm_calls d WHERE d.search_id = c.search_id AND d.id <= c.id) AS cost_so_far_usd,
       nullif((SELECT count(DISTINCT p.variant_id) FROM proposals p WHERE p.llm_call_id = c.id), 0) AS candidates,
       (SELECT e.variant_id FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
        WHERE p.llm_call_id = c.id ORDER BY e.score_ns IS NULL, e.score_ns, e.id LIMIT 1) AS variant,
       (SELECT min(e.score_ns) / 1000.0 FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
        JOIN devices dev ON dev.id = e.device_id AND dev.kind <> 'emulator'
        WHERE p.llm_call_id = c.id AND e.status = 'ok') AS best_us,
       (SELECT min(e.score_ns) / 1000.0 FROM proposals p JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
        JOIN devices dev ON dev.id = e.device_id AND dev.kind = 'emulator'
        WHERE p.llm_call_id = c.id AND e.status = 'ok') AS best_emulated_cost_us,
       c.reward, coalesce(nullif(substr(c.answer, 1, 60000), ''), nullif(c.message, ''), 'No answer yet.') AS text
FROM llm_calls c WHERE c.search_id = :transcript AND (:before IS NULL OR c.id < :before) ORDER BY c.id DESC LIMIT 25;
-- @older Calls before these
SELECT min(id) AS before FROM (
  SELECT id FROM llm_calls WHERE search_id = :transcript AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT 25)
HAVING count(*) = 25;
