-- Schema version 7. Which gate stopped an evaluation.

ALTER TABLE evaluations ADD COLUMN gate TEXT;

DROP VIEW failures;

-- What failed, where and why.
CREATE VIEW failures AS
SELECT e.session_id AS session, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, e.status, e.stage, e.gate, e.message
FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted');
