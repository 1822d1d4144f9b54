-- Variants
-- definition: of this definition alone (text)
-- status: that ended so, e.g. ok or incorrect (text)
-- arm: proposed by this arm (text)
-- device: evaluated on this device (text)
-- q: text in the name, the tunables or the source (text)
-- before: older than this variant (integer)
--
-- @span What was searched
WITH window AS MATERIALIZED (
  SELECT id FROM variants WHERE id < ifnull(:before, 9223372036854775807) ORDER BY id DESC LIMIT 20000)
SELECT min(id) AS oldest, max(id) AS newest, count(*) AS searched, (SELECT min(id) FROM variants) AS first FROM window;
-- @variants Those found, newest first
WITH window AS MATERIALIZED (
  SELECT id, source_id FROM variants WHERE id < ifnull(:before, 9223372036854775807)
  AND (:definition IS NULL OR definition_id IN (SELECT id FROM definitions WHERE name = :definition))
  AND id > ifnull((SELECT id FROM variants WHERE id < ifnull(:before, 9223372036854775807)
                   ORDER BY id DESC LIMIT 1 OFFSET 20000), 0)
  ORDER BY id DESC),
texts AS MATERIALIZED (
  SELECT s.id FROM sources s WHERE :q IS NOT NULL AND s.id IN (SELECT source_id FROM window)
  AND instr(lower(s.text), lower(:q)) > 0),
found AS MATERIALIZED (
  SELECT v.id, (SELECT max(e.id) FROM evaluations e WHERE e.variant_id = v.id) AS evaluation
  FROM window w JOIN variants v ON v.id = w.id
  WHERE (:q IS NULL OR instr(lower(v.name), lower(:q)) > 0 OR instr(lower(v.tunables), lower(:q)) > 0
         OR v.source_id IN (SELECT id FROM texts))
    AND ((:status IS NULL AND :arm IS NULL AND :device IS NULL)
         OR EXISTS (SELECT 1 FROM evaluations e
                    JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
                    WHERE e.variant_id = v.id AND ifnull(:status, e.status) = e.status AND ifnull(:arm, p.arm) = p.arm
                      AND ifnull(:device, dev.name) = dev.name))
  ORDER BY v.id DESC LIMIT 100)
SELECT f.id AS variant, d.name AS definition, e.status,
       iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, e.session_id AS session,
       v.name AS template, v.tunables, e.stage, p.proposer, p.arm, dev.name AS device
FROM found f JOIN variants v ON v.id = f.id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN evaluations e ON e.id = f.evaluation LEFT JOIN proposals p ON p.id = e.proposal_id
LEFT JOIN devices dev ON dev.id = e.device_id ORDER BY f.id DESC;
