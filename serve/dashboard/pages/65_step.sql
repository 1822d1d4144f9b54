-- Step to variant
-- step: number of the variant (integer, required)
--
-- @step The step
SELECT v.id AS variant, p.parent_id AS parent, d.name AS definition FROM variants v JOIN definitions d ON d.id = v.definition_id
LEFT JOIN variant_parents p ON p.variant_id = v.id WHERE v.id = :step ORDER BY p.parent_id LIMIT 1;
-- @reason What the model said
SELECT c.arm || ': ' || c.model AS title, iif(c.status = 'ok', 'ok', iif(c.status = 'sent', 'running', 'failed')) AS status, nullif(nullif(c.status, 'ok'), 'sent') AS fault,
       c.id AS call, c.cost_usd, c.reward, substr(c.answer, 1, 60000) AS text
FROM llm_calls c WHERE c.id = (
  SELECT min(p.llm_call_id) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE e.variant_id = :step) AND c.answer <> '';
-- @diff What distinguishes it from its parent
SELECT 'variant ' || b.id || ' to ' || a.id AS title,
       unified_diff(
         (SELECT group_concat(key || ' = ' || value, char(10)) FROM json_each(b.tunables)) || char(10)
         || substr(sb.text, 1, 300000),
         (SELECT group_concat(key || ' = ' || value, char(10)) FROM json_each(a.tunables)) || char(10)
         || substr(sa.text, 1, 300000)
       ) AS text
FROM variants a JOIN variant_parents p ON p.variant_id = a.id JOIN variants b ON b.id = p.parent_id
JOIN sources sa ON sa.id = a.source_id JOIN sources sb ON sb.id = b.source_id
WHERE a.id = :step ORDER BY b.id LIMIT 1;
