-- Variants
-- definition: Definition (text)
-- status: Status, e.g. ok or incorrect (text)
-- arm: Arm that proposed it (text)
-- device: Device (text)
-- q: Text in name, tunables or source (text)
-- before: Older than variant (integer)
--
-- @definition Definitions
SELECT name FROM definitions ORDER BY id DESC LIMIT 200;
-- @status How evaluations can end, of the latest
SELECT DISTINCT status FROM (SELECT status FROM evaluations ORDER BY id DESC LIMIT 5000) ORDER BY status;
-- @device Devices
SELECT DISTINCT name FROM devices ORDER BY name LIMIT 100;
-- @span What was searched
WITH newest AS (SELECT min((SELECT max(id) FROM variants), ifnull(:before - 1, 9223372036854775807)) AS id)
SELECT id AS newest, max(1, id - 10000) AS oldest FROM newest WHERE id > 0;
-- @variants Those found, newest first
WITH newest AS MATERIALIZED (
  SELECT min((SELECT max(id) FROM variants), ifnull(:before - 1, 9223372036854775807)) AS id),
texts AS MATERIALIZED (
  SELECT s.id FROM sources s, newest n
  WHERE s.id IN (SELECT source_id FROM variants WHERE id BETWEEN n.id - 10000 AND n.id)
    AND instr(lower(s.text), lower(:q)) > 0),
found AS MATERIALIZED (
  SELECT v.id, (SELECT max(e.id) FROM evaluations e WHERE e.variant_id = v.id) AS evaluation
  FROM newest n JOIN variants v ON v.id BETWEEN n.id - 10000 AND n.id
  WHERE (:definition IS NULL OR v.definition_id IN (SELECT id FROM definitions WHERE name = :definition))
    AND (:q IS NULL OR instr(lower(v.name), lower(:q)) > 0 OR instr(lower(v.tunables), lower(:q)) > 0
         OR v.source_id IN (SELECT id FROM texts))
    AND ((:status IS NULL AND :arm IS NULL AND :device IS NULL)
         OR EXISTS (SELECT 1 FROM evaluations e
                    JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
                    WHERE e.variant_id = v.id AND ifnull(:status, e.status) = e.status AND ifnull(:arm, p.arm) = p.arm
                      AND ifnull(:device, dev.name) = dev.name))
  ORDER BY v.id DESC LIMIT 100)
SELECT f.id AS variant, d.name AS definition, e.status,
       iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, e.search_id AS search,
       v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables, e.stage, p.proposer, p.arm, dev.name AS device
FROM found f JOIN variants v ON v.id = f.id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN evaluations e ON e.id = f.evaluation LEFT JOIN proposals p ON p.id = e.proposal_id
LEFT JOIN devices dev ON dev.id = e.device_id ORDER BY f.id DESC;
