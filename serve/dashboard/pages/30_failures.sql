-- Failures
-- search: Search (integer)
-- definition: Definition (text)
-- status: Status, e.g. incorrect (text)
--
-- @status How evaluations can fail, of the latest
SELECT DISTINCT status FROM (SELECT status FROM evaluations ORDER BY id DESC LIMIT 5000)
WHERE status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted') ORDER BY status;
-- @causes Failures of the latest 5,000 evaluations by stage and cause
WITH latest AS MATERIALIZED (
  SELECT id, variant_id, search_id, status, stage, gate, message FROM evaluations
  WHERE (:search IS NULL OR search_id = :search) ORDER BY id DESC LIMIT 5000)
SELECT e.stage, e.status, e.gate, count(*) AS failures, count(DISTINCT e.variant_id) AS variants,
       max(e.variant_id) AS variant, substr(max(e.message), 1, 160) AS message
FROM latest e JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')
  AND ifnull(:definition, d.name) = d.name AND ifnull(:status, e.status) = e.status
GROUP BY e.stage, e.status, e.gate ORDER BY failures DESC LIMIT 40;
-- @failures The latest of them
WITH latest AS MATERIALIZED (
  SELECT id FROM evaluations WHERE (:search IS NULL OR search_id = :search) ORDER BY id DESC LIMIT 5000)
SELECT e.variant_id AS variant, e.search_id AS search, d.name AS definition, v.name AS template, e.status, e.stage,
       e.gate, substr(e.message, 1, 200) AS message, e.ended_at
FROM latest l JOIN evaluations e ON e.id = l.id JOIN variants v ON v.id = e.variant_id
JOIN definitions d ON d.id = v.definition_id
WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')
  AND ifnull(:definition, d.name) = d.name AND ifnull(:status, e.status) = e.status
ORDER BY e.id DESC LIMIT 100;
