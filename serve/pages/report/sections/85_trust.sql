-- Trust
--
-- @gates Candidates that a gate stopped
SELECT e.gate, e.status, count(*) AS candidates, max(e.message) AS example
FROM evaluations e WHERE e.gate IS NOT NULL AND e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2 ORDER BY candidates DESC LIMIT 30;

-- @audits Do the checks of the problems notice deliberate mistakes?
SELECT d.name AS definition, v.name AS device, iif(a.passed, 'yes', 'no') AS passed, a.audited_at,
       (SELECT count(*) FROM audit_findings f WHERE f.audit_id = a.id AND f.kind <> 'formula' AND f.verdict = 'rejected') AS mistakes_noticed,
       (SELECT count(*) FROM audit_findings f WHERE f.audit_id = a.id AND f.kind <> 'formula' AND f.as_expected = 0) AS surprises
FROM audits a JOIN definitions d ON d.id = a.definition_id JOIN devices v ON v.id = a.device_id
WHERE a.id IN (SELECT max(id) FROM audits GROUP BY definition_id, device_id)
  AND a.definition_id IN (SELECT definition_id FROM searches WHERE id IN (SELECT id FROM report_searches))
ORDER BY definition, device LIMIT 50;

-- @later What later checks said of leaders: shapes no one saw, another look at memory and races, pairs, a fresh process
SELECT p.arm AS check_of_leaders, count(*) AS leaders, sum(e.status = 'ok') AS passed, sum(e.status NOT IN ('ok', 'unsupported')) AS did_not
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
WHERE p.arm IN ('held_out', 'examination', 'comparison', 'final') AND e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1 ORDER BY 1;

-- @unaudited Searches on problems that were not audited
SELECT s.id AS search, d.name AS definition FROM searches s JOIN definitions d ON d.id = s.definition_id
WHERE s.audited = 0 AND s.id IN (SELECT id FROM report_searches) ORDER BY s.id LIMIT 50;
