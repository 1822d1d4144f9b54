-- Model call
-- call: its number (integer, required)
--
-- @call The call
SELECT id AS call, search_id AS search, model, arm, prompt_version, status, stop, input_tokens, cached_tokens,
       output_tokens, cost_usd, latency_ms, attempts, reward, bottleneck, message, started_at, ended_at
FROM llm_calls WHERE id = :call;
-- @lasting Its address in every file that it is copied to
SELECT hex(uid) AS uid FROM llm_calls WHERE id = :call;
-- @candidates The result
SELECT p.variant_id AS variant, v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables, p.iteration, e.status, e.stage, e.gate,
       iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, substr(e.message, 1, 200) AS message
FROM proposals p JOIN variants v ON v.id = p.variant_id
LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id
LEFT JOIN devices dev ON dev.id = e.device_id WHERE p.llm_call_id = :call ORDER BY p.id LIMIT 100;
-- @prompt What was asked
SELECT 'system' AS title, json_extract(request, '$.system') AS text FROM llm_calls
WHERE id = :call AND json_valid(request) AND json_extract(request, '$.system') IS NOT NULL
UNION ALL
SELECT coalesce(json_extract(m.value, '$.role'), 'message'),
       coalesce(json_extract(m.value, '$.text'), json_extract(m.value, '$.content'), m.value)
FROM llm_calls c, json_each(iif(json_valid(c.request), c.request, '{}'), '$.messages') m
WHERE c.id = :call
UNION ALL
SELECT 'request', request FROM llm_calls
WHERE id = :call AND (NOT json_valid(request) OR json_type(request, '$.messages') IS NULL)
LIMIT 100;
-- @answer What was answered
SELECT 'answer' AS title, answer AS text FROM llm_calls WHERE id = :call AND answer <> '';
